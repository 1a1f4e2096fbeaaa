// SPDX-License-Identifier: Apache-2.0
// Values to YAML text, as kubectl prints them: libyaml's emitter with Go's choice of styles and key
// order.
#include <yaml.h>

#include <algorithm>
#include <new>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "kube/text/yaml_scalar.hpp"

namespace athanor::yaml {
namespace {

bool is_decimal_digit(char32_t c) {
  return c >= '0' && c <= '9';
}

// Letters outside ASCII count as letters; no symbol of Kubernetes' keys lies there.
bool is_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

std::u32string code_points(std::string_view text) {
  std::u32string result;
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    result += next.code_point;
    text.remove_prefix(next.size);
  }
  return result;
}

// A run of digits as a number; `value` starts at 1 where leading zeros must count.
struct DigitRun {
  std::uint64_t value = 0;
  std::size_t end = 0;
};

DigitRun read_digits(const std::u32string& text, std::size_t start, std::uint64_t value) {
  DigitRun run{.value = value, .end = start};
  while (run.end < text.size() && is_decimal_digit(text[run.end])) {
    run.value = run.value * 10 + (text[run.end] - '0');
    ++run.end;
  }
  return run;
}

// Natural order: digits as numbers, upper case before lower case, symbols before letters.
bool key_less(const std::u32string& a, const std::u32string& b) {
  bool after_digit = false;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i]) {
      after_digit = is_decimal_digit(a[i]);
      continue;
    }
    const bool a_letter = is_letter(a[i]);
    const bool b_letter = is_letter(b[i]);
    if (a_letter && b_letter) {
      return a[i] < b[i];
    }
    if (a_letter || b_letter) {
      return after_digit ? a_letter : b_letter;
    }
    std::uint64_t start = 0;
    if (a[i] == '0' || b[i] == '0') {
      for (std::size_t j = i; j > 0 && is_decimal_digit(a[j - 1]); --j) {
        if (a[j - 1] != '0') {
          start = 1;
          break;
        }
      }
    }
    const DigitRun a_run = read_digits(a, i, start);
    const DigitRun b_run = read_digits(b, i, start);
    if (a_run.value != b_run.value) {
      return a_run.value < b_run.value;
    }
    return a_run.end != b_run.end ? a_run.end < b_run.end : a[i] < b[i];
  }
  return a.size() < b.size();
}

std::vector<const Member*> sorted_members(const Value& object) {
  std::vector<std::pair<std::u32string, const Member*>> keyed;
  keyed.reserve(object.size());
  for (const Member& member : object.members()) {
    keyed.emplace_back(code_points(member.key()), &member);
  }
  std::ranges::stable_sort(keyed, key_less,
                           [](const auto& entry) -> const auto& { return entry.first; });
  std::vector<const Member*> members;
  members.reserve(keyed.size());
  for (const auto& [key, member] : keyed) {
    members.push_back(member);
  }
  return members;
}

// Characters that only double quotes carry through every reader.
bool needs_escapes(std::string_view text) {
  const bool odd = std::ranges::any_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
  });
  return odd || text.find(" \n") != std::string_view::npos ||
         text.find("\xc2\x85") != std::string_view::npos ||
         text.find("\xe2\x80\xa8") != std::string_view::npos ||
         text.find("\xe2\x80\xa9") != std::string_view::npos;
}

// The wish; the emitter turns a plain text that needs quotes into a quoted one.
yaml_scalar_style_t string_style(std::string_view text) {
  if (needs_escapes(text)) {
    return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  }
  if (text.find('\n') != std::string_view::npos) {
    return YAML_LITERAL_SCALAR_STYLE;
  }
  const bool plain = resolve_plain(text).type == PlainScalar::Type::String && !is_base60(text);
  return plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
}

// A double that YAML would not read as an integer; the others print as in JSON.
std::string number_text(const Value& value) {
  std::string text = json::print(value);
  if (value.type() != Value::Type::Double ||
      resolve_plain(text).type == PlainScalar::Type::Integer) {
    return text;
  }
  return format_g(value.as_double());
}

class Emitter {
 public:
  Emitter() {
    if (yaml_emitter_initialize(&emitter_) == 0) {
      throw std::bad_alloc();  // its only reason
    }
    yaml_emitter_set_output(&emitter_, &Emitter::write, &out_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, 80);
    yaml_emitter_set_indent(&emitter_, 2);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  ~Emitter() { yaml_emitter_delete(&emitter_); }

  std::string print(const Value& root) {
    emit([](yaml_event_t* event) {
      return yaml_stream_start_event_initialize(event, YAML_UTF8_ENCODING);
    });
    emit([](yaml_event_t* event) {
      return yaml_document_start_event_initialize(event, nullptr, nullptr, nullptr, 1);
    });
    value(root);
    emit([](yaml_event_t* event) { return yaml_document_end_event_initialize(event, 1); });
    emit([](yaml_event_t* event) { return yaml_stream_end_event_initialize(event); });
    // The emitter closes a text that keeps its last line breaks; one document needs no mark.
    if (out_.ends_with("\n...\n")) {
      out_.resize(out_.size() - 4);
    }
    return std::move(out_);
  }

 private:
  static int write(void* out, unsigned char* buffer, std::size_t size) {
    static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(buffer), size);
    return 1;
  }

  template <class Initialize>
  void emit(Initialize initialize) {
    yaml_event_t event{};
    ATHANOR_CHECK(initialize(&event) != 0, "events are made of valid UTF-8");
    ATHANOR_CHECK(yaml_emitter_emit(&emitter_, &event) != 0, "the events are balanced");
  }

  void value(const Value& node) {
    switch (node.type()) {
      case Value::Type::Null:
        scalar("null", YAML_PLAIN_SCALAR_STYLE);
        return;
      case Value::Type::Bool:
        scalar(node.as_bool() ? "true" : "false", YAML_PLAIN_SCALAR_STYLE);
        return;
      case Value::Type::Int:
      case Value::Type::Uint:
      case Value::Type::Double:
        scalar(number_text(node), YAML_PLAIN_SCALAR_STYLE);
        return;
      case Value::Type::String:
        string(node.as_string());
        return;
      case Value::Type::List:
        list(node);
        return;
      case Value::Type::Object:
        object(node);
        return;
    }
  }

  void string(std::string_view text) {
    if (utf8::is_valid(text)) {
      scalar(text, string_style(text));
      return;
    }
    std::string repaired;
    while (!text.empty()) {
      const utf8::Decoded next = utf8::decode(text);
      utf8::append(repaired, next.code_point);
      text.remove_prefix(next.size);
    }
    scalar(repaired, string_style(repaired));
  }

  void scalar(std::string_view text, yaml_scalar_style_t style) {
    // libyaml asserts that there is a text, also when it has no bytes.
    const char* bytes = text.data() == nullptr ? "" : text.data();
    emit([&](yaml_event_t* event) {
      return yaml_scalar_event_initialize(event, nullptr, nullptr,
                                          reinterpret_cast<const yaml_char_t*>(bytes),
                                          static_cast<int>(text.size()), 1, 1, style);
    });
  }

  void list(const Value& node) {
    emit([&](yaml_event_t* event) {
      return yaml_sequence_start_event_initialize(
          event, nullptr, nullptr, 1,
          node.empty() ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    });
    for (const Value& item : node.items()) {
      value(item);
    }
    emit([](yaml_event_t* event) { return yaml_sequence_end_event_initialize(event); });
  }

  void object(const Value& node) {
    emit([&](yaml_event_t* event) {
      return yaml_mapping_start_event_initialize(
          event, nullptr, nullptr, 1,
          node.empty() ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE);
    });
    for (const Member* member : sorted_members(node)) {
      string(member->key());
      value(member->value);
    }
    emit([](yaml_event_t* event) { return yaml_mapping_end_event_initialize(event); });
  }

  yaml_emitter_t emitter_{};
  std::string out_{};
};

}  // namespace

std::string print(const Value& value) {
  return Emitter().print(value);
}

}  // namespace athanor::yaml
