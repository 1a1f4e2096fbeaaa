// SPDX-License-Identifier: Apache-2.0
#include "console/model/list_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "console/model/list_filter.hpp"

namespace athanor::console {
namespace {

constexpr std::int64_t kMostRows = 1000;

using Checked = Result<void, FieldError>;

FieldError wrong(std::string_view field, std::string message) {
  return {.field = std::string(field), .message = std::move(message)};
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (const std::string_view part = text.substr(0, comma); !part.empty()) {
      parts.emplace_back(part);
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return parts;
}

Checked read_number(std::string_view field, std::string_view text, std::int64_t least,
                    std::int64_t most, std::size_t& out) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    return wrong(field, fmt::format("must be a whole number from {} to {}", least, most));
  }
  out = static_cast<std::size_t>(number);
  return {};
}

Checked read_order(const ListShape& shape, std::string_view text, ListQuery& query) {
  for (std::string name : split_commas(text)) {
    bool descending = name.starts_with('-');
    if (descending) {
      name.erase(0, 1);
    }
    if (name == "age") {
      name = "created";
      descending = !descending;
    }
    const Column* column = find_column(shape, name);
    if (column == nullptr || column->type == ColumnType::Object) {
      return wrong("sort", fmt::format("{}: no such column", name));
    }
    query.order.push_back({.column = std::move(name), .descending = descending});
  }
  return {};
}

Checked read_fields(const ListShape& shape, std::string_view text, ListQuery& query) {
  for (std::string& name : split_commas(text)) {
    if (find_column(shape, name) == nullptr) {
      return wrong("fields", fmt::format("{}: no such column", name));
    }
    query.fields.push_back(std::move(name));
  }
  for (const char* always : {"ns", "name", "uid"}) {
    if (!query.fields.empty() && find_column(shape, always) != nullptr &&
        std::ranges::find(query.fields, always) == query.fields.end()) {
      query.fields.emplace_back(always);
    }
  }
  return {};
}

// Sort key of a value: its kind first, so that absent ones come last in either order.
int compare_values(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double() ? 1 : 0;
  }
  if (a.is_bool() && b.is_bool()) {
    return static_cast<int>(a.as_bool()) - static_cast<int>(b.as_bool());
  }
  const int order = a.as_string().compare(b.as_string());
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool comes_before(const ListQuery& query, const Value& a, const Value& b) {
  for (const ListQuery::Order& order : query.order) {
    const Value& left = cell(a, order.column);
    const Value& right = cell(b, order.column);
    if (left.is_null() != right.is_null()) {
      return right.is_null();
    }
    if (const int compared = compare_values(left, right); compared != 0) {
      return (compared < 0) != order.descending;
    }
  }
  if (const int names = compare_values(a["ns"], b["ns"]); names != 0) {
    return names < 0;
  }
  if (const int names = compare_values(a["name"], b["name"]); names != 0) {
    return names < 0;
  }
  return compare_values(a["uid"], b["uid"]) < 0;
}

Value shown(const ListQuery& query, const Value& row) {
  if (query.fields.empty()) {
    return row;
  }
  Value out = Value::object();
  for (const std::string& name : query.fields) {
    const Value& value = cell(row, name);
    if (value.is_null()) {
      continue;
    }
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) {
      out.set(name, value);
    } else {
      out.member(name.substr(0, dot)).set(name.substr(dot + 1), value);
    }
  }
  return out;
}

}  // namespace

Result<ListQuery, FieldError> parse_query(const ListShape& shape, QueryPairs parameters,
                                          Instant now) {
  ListQuery query;
  for (const auto& [name, text] : parameters) {
    Checked checked;
    if (name == "filter") {
      auto filter = parse_filter(shape, text, now);
      if (!filter.ok()) {
        return filter.error();
      }
      query.filter = *std::move(filter);
    } else if (name == "sort") {
      checked = read_order(shape, text, query);
    } else if (name == "fields") {
      checked = read_fields(shape, text, query);
    } else if (name == "limit") {
      checked = read_number(name, text, 1, kMostRows, query.limit);
    } else if (name == "continue") {
      checked = read_number(name, text, 0, std::int64_t{1} << 40, query.offset);
    }
    if (!checked.ok()) {
      return checked.error();
    }
  }
  return query;
}

bool passes(const ListQuery& query, const Value& row, std::string_view ignored) {
  return passes_filter(query.filter, row, ignored);
}

Value list_answer(const ListShape& shape, const ListQuery& query, std::span<const Value> rows) {
  std::vector<const Value*> taken;
  std::map<std::string, std::int64_t, std::less<>> counts;
  for (const Value& row : rows) {
    const bool counted = !shape.state.empty() && passes(query, row, shape.state);
    if (counted) {
      ++counts[row[shape.state].str()];
    }
    if (counted || shape.state.empty() ? passes(query, row) : false) {
      taken.push_back(&row);
    }
  }
  const std::size_t begin = std::min(query.offset, taken.size());
  const std::size_t end = std::min(begin + query.limit, taken.size());
  std::partial_sort(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(end), taken.end(),
                    [&](const Value* a, const Value* b) { return comes_before(query, *a, *b); });
  Value items = Value::list();
  for (std::size_t i = begin; i < end; ++i) {
    items.push_back(shown(query, *taken[i]));
  }
  Value answer = Value::object({{"items", std::move(items)}, {"total", taken.size()}});
  if (end < taken.size()) {
    answer.set("continue", std::to_string(end));
  }
  if (!shape.state.empty()) {
    Value states = Value::object();
    for (const auto& [state, count] : counts) {
      states.set(state, count);
    }
    answer.set("facets", Value::object({{shape.state, std::move(states)}}));
  }
  return answer;
}

}  // namespace athanor::console
