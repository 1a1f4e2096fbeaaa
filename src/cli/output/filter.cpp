// SPDX-License-Identifier: Apache-2.0
#include "cli/output/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <compare>
#include <numeric>

#include "base/ascii.hpp"
#include "base/near_name.hpp"
#include "kube/text/jsonpath.hpp"
#include "kube/text/quantity.hpp"
#include "runtime/view/usage.hpp"
#include "views/listing.hpp"

namespace athanor::cli {
namespace {

// The value of a field as text: "status.phase", "metadata.labels.a".
std::string field_text(const Object& object, std::string_view field) {
  const Value* at = &object.body();
  while (!field.empty()) {
    const std::size_t dot = std::min(field.find('.'), field.size());
    at = at->find(field.substr(0, dot));
    if (at == nullptr) {
      return {};
    }
    field.remove_prefix(std::min(dot + 1, field.size()));
  }
  return at->is_object() || at->is_list() ? std::string() : at->str();
}

bool is_one_of(const std::vector<std::string>& allowed, std::string_view text) {
  return allowed.empty() || std::ranges::any_of(allowed, [&](const std::string& one) {
           return lower(one) == lower(text);
         });
}

Result<std::vector<std::string>> known_phases(const std::vector<std::string>& asked,
                                              const std::vector<std::string>& known) {
  for (const std::string& phase : asked) {
    if (!known.empty() && !is_one_of(known, phase)) {
      return wrong_usage(fmt::format("--phase {}: unknown; known are {}{}", phase,
                                     fmt::join(known, ", "), near_hint(phase, known)));
    }
  }
  return asked;
}

// Numbers, quantities and ages ("5m", "2d3h") by size, other texts as bytes; absent ones first.
struct SortKey {
  int rank = 0;  // absent, number, text
  double number = 0;
  std::string text{};
  auto operator<=>(const SortKey&) const = default;
};

SortKey key_of(const std::string& text) {
  if (text.empty() || text == "-" || text == "<none>" || text == "<unknown>") {
    return {};
  }
  double number = 0;
  std::string_view plain = text;
  if (plain.ends_with('%')) {
    plain.remove_suffix(1);
  }
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), number);
  if (error == std::errc() && end == plain.data() + plain.size()) {
    return {.rank = 1, .number = number, .text = {}};
  }
  if (const auto span = parse_length(text)) {
    return {.rank = 1, .number = std::chrono::duration<double>(*span).count(), .text = {}};
  }
  if (const auto quantity = Quantity::parse(std::string_view(text))) {
    return {.rank = 1, .number = static_cast<double>(quantity->value()), .text = {}};
  }
  return {.rank = 2, .number = 0, .text = text};
}

SortKey key_of(const Value& value) {
  if (value.is_null()) {
    return {};
  }
  return value.is_number() ? SortKey{.rank = 1, .number = value.as_double(), .text = {}}
                           : key_of(value.str());
}

}  // namespace

std::optional<Duration> parse_length(std::string_view text) {
  constexpr int kMostDays = 36'500;
  Duration days{};
  if (const std::size_t end = text.find('d'); end != std::string_view::npos) {
    int count = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + end, count);
    if (error != std::errc() || at != text.data() + end || count < 0 || count > kMostDays) {
      return std::nullopt;
    }
    days = std::chrono::hours(24) * count;
    text.remove_prefix(end + 1);
    if (text.empty()) {
      return days;
    }
  }
  const auto rest = parse_go_duration(text);
  const bool fits =
      rest.ok() && *rest >= Duration::zero() && *rest <= std::chrono::hours(24) * kMostDays - days;
  return fits ? std::optional(days + *rest) : std::nullopt;
}

std::optional<Instant> parse_since(std::string_view text, Instant now) {
  if (const auto span = parse_length(text)) {
    return now - *span;
  }
  return parse_time(text);
}

Result<ListFilter> ListFilter::parse(const ListOptions& options,
                                     const std::vector<std::string>& phases, Instant now) {
  ListFilter filter;
  if (std::ranges::find(options.names, "") != options.names.end()) {
    return wrong_usage("a name is empty");
  }
  filter.names_ = options.names;
  filter.owners_ = options.owners;
  ATHANOR_TRY(filter.phases_, known_phases(options.phases, phases));
  auto labels = LabelSelector::parse(options.labels);
  if (!labels.ok()) {
    return wrong_usage(fmt::format("--selector {}: {}", options.labels, labels.error().message));
  }
  filter.labels_ = *std::move(labels);
  if (!options.fields.empty()) {
    auto fields = parse_field_selector(options.fields);
    if (!fields.ok()) {
      return wrong_usage(
          fmt::format("--field-selector {}: {}", options.fields, fields.error().message));
    }
    filter.fields_ = *std::move(fields);
  }
  if (!options.since.empty()) {
    filter.since_ = parse_since(options.since, now);
    if (!filter.since_) {
      return wrong_usage(
          fmt::format("--since {}: neither a length of time (90s, 1h30m, 2d) nor a time "
                      "(2026-01-31T08:00:00Z)",
                      options.since));
    }
  }
  return filter;
}

bool ListFilter::takes(const Object& object, const views::Traits& traits) const {
  const bool named = names_.empty() || std::ranges::find(names_, object.name()) != names_.end();
  const auto created = object.creation_time();
  return named && labels_.matches(object.metadata()["labels"]) &&
         std::ranges::all_of(fields_,
                             [&](const FieldRequirement& one) {
                               return (field_text(object, one.field) == one.value) == one.equal;
                             }) &&
         is_one_of(phases_, traits.phase) && is_one_of(owners_, traits.owner) &&
         (!since_ || (created && *created >= *since_));
}

std::vector<std::string> ListFilter::missing(const std::vector<Object>& objects) const {
  std::vector<std::string> absent;
  for (const std::string& name : names_) {
    if (std::ranges::none_of(objects, [&](const Object& one) { return one.name() == name; })) {
      absent.push_back(name);
    }
  }
  return absent;
}

Result<std::vector<std::size_t>> sorted_rows(const std::string& sort_by,
                                             const std::vector<std::string>& titles,
                                             const std::vector<SortRow>& rows) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (sort_by.empty()) {
    return order;
  }
  std::vector<SortKey> keys;
  keys.reserve(rows.size());
  if (sort_by.starts_with('.') || sort_by.starts_with('{')) {
    const bool braced = sort_by.starts_with('{') && sort_by.ends_with('}');
    const std::string text = braced ? sort_by.substr(1, sort_by.size() - 2) : sort_by;
    const auto path = JsonPath::parse(text);
    if (!path.ok()) {
      return wrong_usage(fmt::format("--sort-by {}: {}", sort_by, path.error().message));
    }
    for (const SortRow& row : rows) {
      keys.push_back(row.object == nullptr ? SortKey() : key_of(path->first(*row.object)));
    }
  } else {
    const auto title = std::ranges::find_if(
        titles, [&](const std::string& one) { return lower(one) == lower(sort_by); });
    if (title == titles.end()) {
      return wrong_usage(
          fmt::format("--sort-by {}: neither a column ({}) nor a path such as "
                      ".metadata.creationTimestamp",
                      sort_by, lower(fmt::format("{}", fmt::join(titles, ", ")))));
    }
    const auto column = static_cast<std::size_t>(title - titles.begin());
    for (const SortRow& row : rows) {
      keys.push_back(column < row.cells->size() ? key_of((*row.cells)[column]) : SortKey());
    }
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace athanor::cli
