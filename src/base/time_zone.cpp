// SPDX-License-Identifier: Apache-2.0
// TZif blocks and their footer, a POSIX TZ text such as "CET-1CEST,M3.5.0,M10.5.0/3".
#include "base/time_zone.hpp"

#include <algorithm>
#include <charconv>

namespace athanor {
namespace {

constexpr std::size_t kHeader = 44;
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kMinute = 60;

std::int64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  if (bytes.size() == 4) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  }
  return static_cast<std::int64_t>(value);
}

// The counts of a TZif header.
struct Counts {
  std::size_t utc = 0, standard = 0, leaps = 0, times = 0, types = 0, chars = 0;

  [[nodiscard]] std::size_t size(std::size_t time_size) const {
    return times * time_size + times + types * 6 + chars + leaps * (time_size + 4) + standard + utc;
  }
};

std::optional<Counts> read_header(std::string_view bytes) {
  if (bytes.size() < kHeader || !bytes.starts_with("TZif") || bytes[4] < '2') {
    return std::nullopt;
  }
  const auto number = [&](std::size_t index) {
    return static_cast<std::size_t>(big_endian(bytes.substr(20 + index * 4, 4)));
  };
  constexpr std::size_t kMost = 100'000;  // of anything
  Counts counts{number(0), number(1), number(2), number(3), number(4), number(5)};
  const bool sane = std::max({counts.utc, counts.standard, counts.leaps, counts.times, counts.types,
                              counts.chars}) < kMost &&
                    counts.types > 0;
  return sane ? std::optional(counts) : std::nullopt;
}

// Takes numbers and names off the front of a POSIX TZ text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool skip(char c) {
    if (text_.empty() || text_.front() != c) {
      return false;
    }
    text_.remove_prefix(1);
    return true;
  }
  bool name() {
    const bool quoted = skip('<');
    std::size_t length = 0;
    while (length < text_.size() && (quoted ? text_[length] != '>' : is_letter(text_[length]))) {
      ++length;
    }
    text_.remove_prefix(length);
    return (!quoted || skip('>')) && length >= 1;
  }
  std::optional<int> number() {
    int value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  // "[-+]h[:m[:s]]" in seconds.
  std::optional<std::int64_t> time() {
    const bool negative = skip('-');
    static_cast<void>(skip('+'));
    const auto hours = number();
    if (!hours) {
      return std::nullopt;
    }
    std::int64_t seconds = *hours * kHour;
    for (const std::int64_t unit : {kMinute, std::int64_t{1}}) {
      if (skip(':')) {
        seconds += number().value_or(0) * unit;
      }
    }
    return negative ? -seconds : seconds;
  }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] char front() const { return text_.empty() ? '\0' : text_.front(); }

 private:
  static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
  std::string_view text_;
};

}  // namespace

std::optional<TimeZone::Footer> TimeZone::parse_footer(std::string_view text) {
  Reader reader(text);
  Footer footer;
  if (!reader.name()) {
    return std::nullopt;
  }
  const auto west = reader.time();
  if (!west) {
    return std::nullopt;
  }
  footer.standard = -*west;
  if (!reader.name()) {
    return footer;
  }
  footer.summer = footer.standard + kHour;
  if (reader.front() != ',') {
    const auto summer_west = reader.time();
    footer.summer = summer_west ? -*summer_west : footer.summer;
  }
  for (std::optional<Rule>* rule : {&footer.begin, &footer.end}) {
    if (!reader.skip(',') || !reader.skip('M')) {
      return Footer{.standard = footer.standard};
    }
    const auto month = reader.number();
    const bool dot = reader.skip('.');
    const auto week = reader.number();
    const bool second_dot = reader.skip('.');
    const auto day = reader.number();
    if (!month || !dot || !week || !second_dot || !day) {
      return std::nullopt;
    }
    *rule = Rule{.month = *month, .week = *week, .day = *day};
    if (reader.skip('/')) {
      (*rule)->time = reader.time().value_or((*rule)->time);
    }
  }
  return footer;
}

std::int64_t TimeZone::moment(const Rule& rule, int year, std::int64_t offset_before) {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): calendar arithmetic
  const auto which_month = std::chrono::year(year) / month(static_cast<unsigned>(rule.month));
  const weekday which_day(static_cast<unsigned>(rule.day));
  const sys_days date = rule.week >= 5
                            ? sys_days(which_month / which_day[last])
                            : sys_days(which_month / which_day[static_cast<unsigned>(rule.week)]);
  return duration_cast<seconds>(date.time_since_epoch()).count() + rule.time - offset_before;
}

std::int64_t TimeZone::by_footer(std::int64_t at) const {
  if (!footer_->begin || !footer_->end) {
    return footer_->standard;
  }
  const std::chrono::sys_seconds local{std::chrono::seconds(at + footer_->standard)};
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(local));
  const int year = static_cast<int>(date.year());
  const std::int64_t begin = moment(*footer_->begin, year, footer_->standard);
  const std::int64_t end = moment(*footer_->end, year, footer_->summer);
  const bool summer = begin < end ? at >= begin && at < end : at >= begin || at < end;
  return summer ? footer_->summer : footer_->standard;
}

std::optional<TimeZone> TimeZone::parse(std::string_view tzif) {
  const auto first = read_header(tzif);
  if (!first || tzif.size() < kHeader + first->size(4)) {
    return std::nullopt;
  }
  std::string_view rest = tzif.substr(kHeader + first->size(4));
  const auto counts = read_header(rest);
  if (!counts || rest.size() < kHeader + counts->size(8)) {
    return std::nullopt;
  }
  rest.remove_prefix(kHeader);
  const std::string_view times = rest.substr(0, counts->times * 8);
  const std::string_view kinds = rest.substr(times.size(), counts->times);
  const std::string_view types = rest.substr(times.size() + kinds.size(), counts->types * 6);
  const auto offset_of = [&](std::size_t type) { return big_endian(types.substr(type * 6, 4)); };
  TimeZone zone;
  zone.first_offset_ = offset_of(0);
  for (std::size_t i = 0; i < counts->times; ++i) {
    const auto type = static_cast<std::size_t>(static_cast<unsigned char>(kinds[i]));
    if (type >= counts->types) {
      return std::nullopt;
    }
    zone.transitions_.push_back({big_endian(times.substr(i * 8, 8)), offset_of(type)});
  }
  std::string_view footer = rest.substr(counts->size(8));
  if (footer.size() > 2 && footer.front() == '\n') {
    footer.remove_prefix(1);
    zone.footer_ = parse_footer(footer.substr(0, footer.find('\n')));
  }
  return zone;
}

std::int64_t TimeZone::offset(Instant instant) const {
  const std::int64_t at =
      std::chrono::floor<std::chrono::seconds>(instant).time_since_epoch().count();
  const auto next = std::ranges::upper_bound(transitions_, at, {}, &Transition::at);
  if (next == transitions_.end() && footer_) {
    return by_footer(at);
  }
  return next == transitions_.begin() ? first_offset_ : std::prev(next)->offset;
}

}  // namespace athanor
