// A command's flags, read by CLI11. Values stay text here: what they mean, and what is wrong with them, options.cpp
// says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quire/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace quire::bench {

/// How a flag shows in the help: a heading, the placeholder of its value, a line or more.
struct FlagHelp {
  std::string group;
  std::string value;
  std::string text;
};

class FlagParser {
 public:
  /// `command` such as "quire bench"; `examples` stand at the end of the help.
  FlagParser(const std::string& command, const std::string& summary, const std::string& examples);
  ~FlagParser();

  /// `items` get the flag's values, split at commas; they stay as they are where the flag is not given.
  void add_list(const std::string& flag, const FlagHelp& help, std::vector<std::string>& items);
  void add_value(const std::string& flag, const FlagHelp& help, std::optional<std::string>& value);
  void add_switch(const std::string& flag, const FlagHelp& help, bool& on);

  /// Fills what was added. Errors are one line that names the flag at fault, with a near match for an unknown one.
  Status parse(const std::vector<std::string>& args);

  /// True once parse() met --help; then nothing else counts.
  bool help_wanted() const { return help_wanted_; }
  std::string help() const;

 private:
  CLI::Option* describe(CLI::Option* option, const FlagHelp& help);
  Status check_values() const;

  struct List {
    const CLI::Option* option;
    std::vector<std::string>* items;
  };
  std::unique_ptr<CLI::App> app_;
  std::vector<std::string> flags_;
  std::vector<List> lists_;
  bool help_wanted_ = false;
};

}  // namespace quire::bench
