// SPDX-License-Identifier: Apache-2.0
// Path elements: making, ordering and showing one step of a field path.
#include <algorithm>
#include <array>
#include <vector>

#include "kube/apply/field_set.hpp"
#include "kube/text/json.hpp"

namespace athanor::path_element {

namespace {

// Bytes of a name element that is made without a string of its own; most fit.
constexpr std::size_t kUsual = 64;

int rank(std::string_view element) {
  switch (element.empty() ? '\0' : element.front()) {
    case 'f':
      return 0;
    case 'k':
      return 1;
    case 'v':
      return 2;
    default:
      return 3;
  }
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int sign(int order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

// Whether position `end` of that JSON text lies inside a string.
bool inside_string(std::string_view text, std::size_t end) {
  bool inside = false;
  for (std::size_t i = 0; i < end; ++i) {
    if (inside && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      inside = !inside;
    }
  }
  return inside;
}

// Two different JSON texts: numbers by size, everything else by bytes.
int compare_json(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at < shorter && a[at] == b[at]) {
    ++at;
  }
  if (!inside_string(a, at)) {
    std::size_t start = at;
    while (start > 0 && is_digit(a[start - 1])) {
      --start;
    }
    const auto digits = [start](std::string_view text) {
      std::size_t end = start;
      while (end < text.size() && is_digit(text[end])) {
        ++end;
      }
      return end - start;
    };
    const std::size_t in_a = digits(a);
    const std::size_t in_b = digits(b);
    if (in_a > 0 && in_b > 0 && in_a != in_b) {
      const bool negative = start > 0 && a[start - 1] == '-';
      return (in_a < in_b) != negative ? -1 : 1;
    }
  }
  return sign(a.substr(at).compare(b.substr(at)));
}

void append_scalar(const Value& scalar, std::string& out) {
  if (scalar.is_object()) {  // no key should be one
    for (const Member& member : scalar.members()) {
      out.append(member.key()).append("=");
      append_scalar(member.value, out);
    }
    return;
  }
  if (scalar.is_list()) {
    out += '[';
    for (std::size_t i = 0; i < scalar.size(); ++i) {
      out.append(i == 0 ? "" : ",");
      append_scalar(scalar[i], out);
    }
    out += ']';
    return;
  }
  if (!scalar.is_string()) {
    json::append(scalar, out);
    return;
  }
  // As Go's %q shows plain text: no HTML escapes.
  out += '"';
  for (const char c : scalar.as_string()) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  out += '"';
}

}  // namespace

Value field(std::string_view name) {
  if (name.size() + 2 <= kUsual) {
    std::array<char, kUsual> buffer{'f', ':'};
    std::copy(name.begin(), name.end(), buffer.begin() + 2);
    return std::string_view(buffer.data(), name.size() + 2);
  }
  return "f:" + std::string(name);
}

Value key(const Value& keys) {
  std::vector<const Member*> sorted;
  sorted.reserve(keys.size());
  for (const Member& member : keys.members()) {
    sorted.push_back(&member);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Member* a, const Member* b) { return a->key() < b->key(); });
  std::string text = "k:{";
  for (const Member* member : sorted) {
    if (text.size() > 3) {
      text += ',';
    }
    json::append(member->name, text);
    text += ':';
    json::append(member->value, text);
  }
  text += '}';
  return text;
}

Value value(const Value& scalar) {
  std::string text = "v:";
  json::append(scalar, text);
  return text;
}

Value index(std::size_t position) {
  return "i:" + std::to_string(position);
}

bool is_field(std::string_view element) {
  return element.starts_with("f:");
}

std::string_view field_name(std::string_view element) {
  return is_field(element) ? element.substr(2) : std::string_view();
}

std::string text(std::string_view element) {
  const std::string_view content = element.size() > 2 ? element.substr(2) : std::string_view();
  if (is_field(element)) {
    return "." + std::string(content);
  }
  if (element.starts_with("i:")) {
    return "[" + std::string(content) + "]";
  }
  const Result<Value> parsed = json::parse(content);
  std::string out = "[";
  if (element.starts_with("v:")) {
    out += '=';
    append_scalar(parsed.value_or(Value()), out);
  } else {
    const Value keys = parsed.value_or(Value());
    for (const Member& member : keys.members()) {
      if (out.size() > 1) {
        out += ',';
      }
      out += member.key();
      out += '=';
      append_scalar(member.value, out);
    }
  }
  return out + "]";
}

int compare(std::string_view a, std::string_view b) {
  if (a == b) {
    return 0;
  }
  const int difference = rank(a) - rank(b);
  if (difference != 0) {
    return sign(difference);
  }
  return rank(a) == 0 ? sign(a.compare(b)) : compare_json(a, b);
}

}  // namespace athanor::path_element
