#include "bench/flag_parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/suggest.h"

namespace quire::bench {
namespace {

// Flag and placeholder, and no more: CLI11 would add types, defaults and exclusions to the left column.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(27); }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : ' ' + option->get_type_name();
  }
  std::string make_usage(const CLI::App* app, std::string) const override {
    return "\nUsage: " + app->get_name() + " [FLAGS]\n";
  }
};

Status invalid(const std::string& message) { return {StatusCode::kInvalidArgument, message}; }

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> items;
  size_t begin = 0;
  for (size_t comma = 0; comma != std::string::npos; begin = comma + 1) {
    comma = text.find(',', begin);
    items.push_back(text.substr(begin, comma - begin));
  }
  return items;
}

}  // namespace

FlagParser::FlagParser(const std::string& command, const std::string& summary, const std::string& examples)
    : app_(std::make_unique<CLI::App>(summary, command)), flags_({"--help"}) {
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->set_help_flag();  // parse() sets it, so that it stands last
  app_->footer(examples);
  app_->allow_extras();  // so that the message about them is ours
}

FlagParser::~FlagParser() = default;

CLI::Option* FlagParser::describe(CLI::Option* option, const FlagHelp& help) {
  flags_.push_back(option->get_name());
  return option->group(help.group)->type_name(help.value);
}

void FlagParser::add_list(const std::string& flag, const FlagHelp& help, std::vector<std::string>& items) {
  CLI::Option* option = describe(app_->add_option(flag, help.text), help);
  option->expected(-1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  lists_.push_back({option, &items});
}

void FlagParser::add_value(const std::string& flag, const FlagHelp& help, std::optional<std::string>& value) {
  describe(app_->add_option_function<std::string>(
               flag, [&value](const std::string& text) { value = text; }, help.text),
           help);
}

void FlagParser::add_switch(const std::string& flag, const FlagHelp& help, bool& on) {
  describe(app_->add_flag_callback(flag, [&on] { on = true; }, help.text)->disable_flag_override(), help);
}

// CLI11 hands a flag its first value whatever it looks like, the next flag included.
Status FlagParser::check_values() const {
  for (const CLI::Option* option : app_->get_options()) {
    if (option->get_expected_max() == 0) continue;
    for (const std::string& value : option->results()) {
      if (value.rfind("--", 0) == 0) return invalid(option->get_name() + ": needs a value, found '" + value + "'");
    }
  }
  return {};
}

Status FlagParser::parse(const std::vector<std::string>& args) {
  app_->set_help_flag("-h,--help", "show this text")->group("Other");
  try {
    app_->parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    help_wanted_ = true;
    return {};
  } catch (const CLI::ArgumentMismatch& error) {
    // Its words differ between versions of CLI11; the flag is the first or last thing they name.
    const std::string words = error.what();
    for (const std::string& flag : flags_) {
      if (words.rfind(flag.substr(2) + ' ', 0) == 0) return invalid(flag + ": takes no value");
      if (words.rfind(flag + ':', 0) != 0) continue;
      const auto given = std::count_if(args.begin(), args.end(),
                                       [&](const std::string& a) { return a == flag || a.rfind(flag + '=', 0) == 0; });
      return invalid(flag + (given > 1 ? ": given more than once" : ": needs a value"));
    }
    return invalid(words);
  } catch (const CLI::ParseError& error) {
    return invalid(error.what());
  }
  if (Status s = check_values(); !s.ok()) return s;
  if (const std::vector<std::string> unknown = app_->remaining(); !unknown.empty()) {
    const auto flag = std::find_if(unknown.begin(), unknown.end(), [](const std::string& a) { return a[0] == '-'; });
    if (flag == unknown.end()) return invalid("unexpected argument '" + unknown.front() + "'");
    const std::string name = flag->substr(0, flag->find('='));
    return invalid("unknown flag '" + name + "'" + did_you_mean(name, flags_));
  }
  for (const List& list : lists_) {
    if (list.option->count() == 0) continue;
    list.items->clear();
    for (const std::string& value : list.option->results()) {
      const std::vector<std::string> items = split_at_commas(value);
      list.items->insert(list.items->end(), items.begin(), items.end());
    }
  }
  return {};
}

std::string FlagParser::help() const {
  std::string text = app_->help();
  for (size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace quire::bench
