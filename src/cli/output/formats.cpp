// SPDX-License-Identifier: Apache-2.0
#include "cli/output/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "cli/output/go_template.hpp"
#include "cli/output/jsonpath_template.hpp"
#include "cli/output/terminal.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

std::string_view name_of_format(Output output) {
  switch (output) {
    case Output::Table:
      return "table";
    case Output::Json:
      return "json";
    case Output::Yaml:
      return "yaml";
    case Output::Name:
      return "name";
    case Output::Wide:
      return "wide";
    case Output::JsonPath:
      return "jsonpath";
    case Output::CustomColumns:
      return "custom-columns";
    case Output::Trace:
      return "trace";
    case Output::Fleet:
      return "fleet";
    case Output::GoTemplate:
      break;
  }
  return "go-template";
}

bool has_pattern(Output output) {
  return output == Output::JsonPath || output == Output::CustomColumns ||
         output == Output::GoTemplate;
}

// One of custom-columns: TITLE:PATH.
struct CustomColumn {
  std::string title{};
  JsonPathTemplate path{};
};

Result<std::vector<CustomColumn>> parse_columns(std::string_view pattern) {
  std::vector<CustomColumn> columns;
  while (!pattern.empty()) {
    const std::size_t comma = std::min(pattern.find(','), pattern.size());
    const std::string_view column = pattern.substr(0, comma);
    const std::size_t colon = column.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == column.size()) {
      return wrong_usage(
          fmt::format("custom-columns \"{}\": write TITLE:PATH, as NAME:.metadata.name", column));
    }
    ATHANOR_TRY(JsonPathTemplate path, JsonPathTemplate::parse(column.substr(colon + 1)));
    columns.push_back({.title = std::string(column.substr(0, colon)), .path = std::move(path)});
    pattern.remove_prefix(std::min(comma + 1, pattern.size()));
  }
  return columns;
}

std::string names_of(const std::vector<Value>& values) {
  std::string names;
  for (const Value& value : values) {
    const std::string_view version = value["apiVersion"].as_string();
    const std::size_t slash = version.find('/');
    const std::string_view group =
        slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
    names += fmt::format("{}{}{}/{}\n", lower(value["kind"].as_string()), group.empty() ? "" : ".",
                         group, value["metadata"]["name"].as_string());
  }
  return names;
}

Result<std::string> columns_of(const std::vector<Value>& values, const std::string& pattern,
                               bool no_headers) {
  ATHANOR_TRY(const std::vector<CustomColumn> columns, parse_columns(pattern));
  std::vector<std::string> titles;
  titles.reserve(columns.size());
  for (const CustomColumn& column : columns) {
    titles.push_back(column.title);
  }
  views::Table table(std::move(titles));
  for (const Value& value : values) {
    std::vector<std::string> row;
    for (const CustomColumn& column : columns) {
      std::string cell = column.path.render(value);
      row.push_back(cell.empty() ? "<none>" : std::move(cell));
    }
    table.add(std::move(row));
  }
  return table.text({.no_headers = no_headers});
}

}  // namespace

const std::vector<Output>& list_formats() {
  static const std::vector<Output> kFormats{
      Output::Table, Output::Wide,     Output::Json,          Output::Yaml,
      Output::Name,  Output::JsonPath, Output::CustomColumns, Output::GoTemplate};
  return kFormats;
}

std::string format_choice(const std::vector<Output>& formats) {
  std::string text;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const bool last = i + 1 == formats.size();
    text += i == 0 ? "" : (last ? " or " : ", ");
    text += name_of_format(formats[i]);
    text += has_pattern(formats[i]) ? "=..." : "";
  }
  return text;
}

Result<Format> parse_format(std::string_view text, const std::vector<Output>& formats) {
  if (text.starts_with('=')) {  // "-o=json"
    text.remove_prefix(1);
  }
  const std::size_t equals = std::min(text.find('='), text.size());
  const auto found = std::ranges::find(formats, text.substr(0, equals), name_of_format);
  const bool given = equals < text.size();
  if (found == formats.end() || given != has_pattern(*found)) {
    return wrong_usage(fmt::format("no format \"{}\": {}", text, format_choice(formats)));
  }
  Format format{.output = *found};
  if (given) {
    format.pattern = std::string(text.substr(equals + 1));
    ATHANOR_TRY_VOID(check_format(format));
  }
  return format;
}

Result<void> check_format(const Format& format) {
  if (has_pattern(format.output) && format.pattern.empty()) {
    return wrong_usage(fmt::format("{}: a pattern is missing", name_of_format(format.output)));
  }
  switch (format.output) {
    case Output::JsonPath: {
      const auto parsed = JsonPathTemplate::parse(format.pattern);
      return parsed.ok() ? Result<void>() : parsed.error();
    }
    case Output::CustomColumns: {
      const auto parsed = parse_columns(format.pattern);
      return parsed.ok() ? Result<void>() : parsed.error();
    }
    case Output::GoTemplate: {
      const auto parsed = GoTemplate::parse(format.pattern);
      return parsed.ok() ? Result<void>() : parsed.error();
    }
    case Output::Table:
    case Output::Json:
    case Output::Yaml:
    case Output::Name:
    case Output::Wide:
    case Output::Trace:
    case Output::Fleet:
      break;
  }
  return {};
}

Value document_of(const std::vector<Value>& values, Shape shape) {
  if (shape == Shape::Single && values.size() == 1) {
    return values.front();
  }
  Value list = Value::object({{"apiVersion", "v1"},
                              {"kind", "List"},
                              {"metadata", Value::object()},
                              {"items", Value::list()}});
  for (const Value& value : values) {
    list.member("items").push_back(value);
  }
  return list;
}

Result<std::string> render_values(const std::vector<Value>& values, const Format& format,
                                  Shape shape, bool no_headers) {
  switch (format.output) {
    case Output::Name:
      return names_of(values);
    case Output::CustomColumns:
      return columns_of(values, format.pattern, no_headers);
    case Output::JsonPath: {
      ATHANOR_TRY(const JsonPathTemplate path, JsonPathTemplate::parse(format.pattern));
      return path.render(document_of(values, shape)) + "\n";
    }
    case Output::GoTemplate: {
      ATHANOR_TRY(const GoTemplate text, GoTemplate::parse(format.pattern));
      return text.render(document_of(values, shape));
    }
    case Output::Yaml:
      return yaml::print(document_of(values, shape));
    case Output::Table:
    case Output::Wide:
    case Output::Trace:
    case Output::Fleet:
    case Output::Json:
      break;
  }
  return json::print(document_of(values, shape), json::Style::Pretty) + "\n";
}

Result<std::string> render_objects(const std::vector<Object>& objects, const Format& format,
                                   Shape shape, bool no_headers) {
  std::vector<Value> values;
  values.reserve(objects.size());
  for (const Object& object : objects) {
    Value body = object.body();
    if (body["metadata"].contains("managedFields")) {
      body.member("metadata").erase("managedFields");
    }
    values.push_back(std::move(body));
  }
  return render_values(values, format, shape, no_headers);
}

}  // namespace athanor::cli
