// The grammar of numbers on the command line: what is taken, and that nothing else is.
#include "bench/numbers.h"

#include <gmock/gmock.h>

namespace quire::bench {
namespace {

using testing::ElementsAre;

int64_t whole(const char* text) {
  const Result<int64_t> value = parse_whole(text, 0);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status().message();
  return value.ok() ? *value : -1;
}

std::vector<int64_t> numbers(const char* text) {
  const Result<std::vector<int64_t>> values = parse_numbers(text, 1);
  EXPECT_TRUE(values.ok()) << text << ": " << values.status().message();
  return values.ok() ? *values : std::vector<int64_t>();
}

TEST(Numbers, take_digits_and_binary_suffixes) {
  EXPECT_EQ(whole("0"), 0);
  EXPECT_EQ(whole("100"), 100);
  EXPECT_EQ(whole("32k"), 32'768);
  EXPECT_EQ(whole("1M"), 1'048'576);
  EXPECT_EQ(whole("9223372036854775807"), INT64_MAX);
}

TEST(Numbers, refuse_whatever_does_not_match_as_a_whole) {
  for (const char* text : {"",
                           " ",
                           "3x2",
                           "abc",
                           "0x20",
                           "010",
                           "00",
                           "3.5",
                           "-1",
                           "+1",
                           " 1",
                           "1 ",
                           "1e3",
                           "k",
                           "1kk",
                           "32kb",
                           "99999999999999999999",
                           "9223372036854775808",
                           "9007199254740992k",
                           "1_000",
                           "1,2"}) {
    const Result<int64_t> value = parse_whole(text, 0);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.status().message(), "'" + std::string(text) + "' is not a whole number >= 0");
  }
}

TEST(Numbers, hold_their_lower_bound) {
  EXPECT_TRUE(parse_whole("1", 1).ok());
  EXPECT_EQ(parse_whole("0", 1).status().message(), "'0' is not a whole number >= 1");
}

TEST(Numbers, ranges_include_both_ends_where_the_steps_meet_them) {
  EXPECT_THAT(numbers("128:1k:x2"), ElementsAre(128, 256, 512, 1024));
  EXPECT_THAT(numbers("1:20:x3"), ElementsAre(1, 3, 9));
  EXPECT_THAT(numbers("16:64:+16"), ElementsAre(16, 32, 48, 64));
  EXPECT_THAT(numbers("1:4:+2"), ElementsAre(1, 3));
  EXPECT_THAT(numbers("7:7:x2"), ElementsAre(7));
  EXPECT_THAT(numbers("5"), ElementsAre(5));
}

TEST(Numbers, ranges_end_before_they_overflow) {
  EXPECT_EQ(numbers("1:9223372036854775807:x2").size(), 63u);
  EXPECT_THAT(numbers("9223372036854775806:9223372036854775807:+1"), ElementsAre(INT64_MAX - 1, INT64_MAX));
}

TEST(Numbers, refuse_ranges_that_make_no_sense) {
  for (const char* text : {"1:", ":", "::", "1:2", "1:2:", "1:2:3", "1:2:x", "1:8:y2", "1:8:x1", "1:8:x0", "1:8:+0",
                           "8:1:x2", "0:8:x2", "0:8:+1", "1:8:x2:3", "1:8:x-2", "a:8:x2", "1:1000000:+1"}) {
    EXPECT_FALSE(parse_numbers(text, 1).ok()) << text;
  }
}

TEST(Numbers, percentages_and_seconds_take_decimals) {
  EXPECT_DOUBLE_EQ(*parse_percent("1%"), 0.01);
  EXPECT_DOUBLE_EQ(*parse_percent("0.5%"), 0.005);
  for (const char* text : {"1", "0.01", "%", "0%", "100%", "-1%", "1%%", "nan%", "inf%", "1e0%", "01%", ".5%", "5.%"}) {
    EXPECT_FALSE(parse_percent(text).ok()) << text;
  }
  EXPECT_DOUBLE_EQ(*parse_seconds("20"), 20);
  EXPECT_DOUBLE_EQ(*parse_seconds("0.25"), 0.25);
  for (const char* text : {"", "0", "0.0", "-1", "inf", "nan", "1s", "0x1", "1e400", "1e3"}) {
    EXPECT_FALSE(parse_seconds(text).ok()) << text;
  }
}

TEST(Numbers, bytes_read_in_three_digits) {
  EXPECT_EQ(byte_text(0), "0 B");
  EXPECT_EQ(byte_text(999), "999 B");
  EXPECT_EQ(byte_text(1000), "1.00 KB");
  EXPECT_EQ(byte_text(999'999), "1.00 MB");
  EXPECT_EQ(byte_text(16'777'216), "16.8 MB");
  EXPECT_EQ(byte_text(268'435'456), "268 MB");
  EXPECT_EQ(byte_text(25.2e9), "25.2 GB");
}

}  // namespace
}  // namespace quire::bench
