// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/text.hpp"

#include <algorithm>

namespace athanor::tekton {

std::string join(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      text += separator;
    }
    text += items[i];
  }
  return text;
}

std::string go_list(std::span<const std::string> items) {
  return "[" + join(items, " ") + "]";
}

std::string quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool is_dns_label(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') {
    return false;
  }
  for (const char c : text) {
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-') {
      return false;
    }
  }
  return true;
}

bool is_dns_subdomain(std::string_view text) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  while (true) {
    const std::string_view part = text.substr(0, text.find('.'));
    const bool good =
        !part.empty() && is_word(part.front()) && is_word(part.back()) &&
        std::all_of(part.begin(), part.end(), [&](char c) { return is_word(c) || c == '-'; });
    if (!good || part.size() == text.size()) {
      return good;
    }
    text.remove_prefix(part.size() + 1);
  }
}

std::vector<std::string> strings_of(const Value& list) {
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const Value& item : list.items()) {
    out.push_back(item.str());
  }
  return out;
}

Value list_of(std::span<const std::string> items) {
  Value list = Value::list();
  for (const std::string& item : items) {
    list.push_back(item);
  }
  return list;
}

const Value& named(const Value& list, std::string_view name) {
  static const Value kNone;
  for (const Value& item : list.items()) {
    if (item["name"].as_string() == name) {
      return item;
    }
  }
  return kNone;
}

}  // namespace athanor::tekton
