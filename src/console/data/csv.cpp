// SPDX-License-Identifier: Apache-2.0
#include "console/data/csv.hpp"

#include "kube/text/json.hpp"

namespace athanor::console {
namespace {

std::string csv_cell(const Value& value) {
  std::string text = value.is_null()     ? std::string()
                     : value.is_string() ? value.str()
                                         : json::print(value);
  if (value.is_string() && !text.empty() &&
      std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) {
    text.insert(0, "'");
  }
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += '"';
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string csv_of(const Value& items, const std::vector<std::string>& columns) {
  std::string text;
  for (const std::string& column : columns) {
    text += (text.empty() ? "" : ",") + column;
  }
  text += "\r\n";
  for (const Value& item : items.items()) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line += (i == 0 ? "" : ",") + csv_cell(item[columns[i]]);
    }
    text += line + "\r\n";
  }
  return text;
}

}  // namespace athanor::console
