// SPDX-License-Identifier: Apache-2.0
// YAML text to Values: libyaml's events, composed with Go's rules for tags, merges and keys.
#include "kube/text/yaml.hpp"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/digest.hpp"
#include "base/utf8.hpp"
#include "kube/text/text.hpp"
#include "kube/text/yaml_scalar.hpp"
#include "kube/value/issue_budget.hpp"

namespace athanor::yaml {
namespace {

constexpr int kMaxDepth = 200;
// Nodes that aliases may add to a document; a few lines can otherwise expand to billions.
constexpr std::size_t kMaxAliasNodes = 100'000;

Error yaml_error(std::string_view message) {
  return Error::bad_request("error converting YAML to JSON: yaml: " + std::string(message));
}

Error yaml_error(std::size_t line, std::string_view message) {
  return yaml_error("line " + std::to_string(line) + ": " + std::string(message));
}

struct EventDeleter {
  void operator()(yaml_event_t* event) const {
    yaml_event_delete(event);
    std::default_delete<yaml_event_t>()(event);
  }
};
using Event = std::unique_ptr<yaml_event_t, EventDeleter>;

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

std::size_t line_of(const yaml_event_t& event) {
  return event.start_mark.line + 1;
}

// A stream of libyaml's events.
class Events {
 public:
  explicit Events(std::string_view text) {
    const bool ready = yaml_parser_initialize(&parser_) != 0;
    if (!ready) {
      throw std::bad_alloc();  // its only reason
    }
    // libyaml asserts that there is a text, also when it has no bytes.
    const char* bytes = text.data() == nullptr ? "" : text.data();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(bytes),
                                 text.size());
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() { yaml_parser_delete(&parser_); }

  Result<Event> next() {
    auto raw = std::make_unique<yaml_event_t>();
    if (yaml_parser_parse(&parser_, raw.get()) == 0) {
      const std::string_view problem =
          parser_.problem == nullptr ? "out of memory" : std::string_view(parser_.problem);
      if (parser_.error == YAML_READER_ERROR) {
        return yaml_error(problem);
      }
      return yaml_error(parser_.problem_mark.line + 1, problem);
    }
    return Event(raw.release());
  }

 private:
  yaml_parser_t parser_{};
};

// A composed node, how many nodes it expands to and how deep they are nested.
struct Anchor {
  Value value{};
  std::size_t nodes = 0;
  int levels = 0;
  bool complete = false;
};

// The members of one mapping while it is read.
struct Mapping {
  std::vector<Member> members{};
  std::unordered_map<std::string, std::size_t> places{};
  std::vector<Value> merged{};  // sources of "<<", in order of precedence

  // The place of a key, nullopt when it is new.
  [[nodiscard]] std::optional<std::size_t> place(const std::string& key) const {
    const auto found = places.find(key);
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
  void add(const std::string& key, Value value) {
    places.emplace(key, members.size());
    members.emplace_back(key, std::move(value));
  }
  // Merged members never replace explicit ones, nor earlier sources' ones.
  Value finish() && {
    for (const Value& source : merged) {
      for (const Member& member : source.members()) {
        if (const std::string key(member.key()); !place(key)) {
          add(key, member.value);
        }
      }
    }
    return Value::object(std::move(members));
  }
};

struct KeyNode {
  std::string text{};
  bool merge = false;
};

class Composer {
 public:
  Composer(std::string_view text, const ParseOptions& options) : events_(text), options_(options) {}

  // The next document; nullopt at the end of the stream.
  Result<std::optional<Value>> document() {
    while (true) {
      ATHANOR_TRY(const Event event, events_.next());
      switch (event->type) {
        case YAML_STREAM_END_EVENT:
          return std::optional<Value>();
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
          break;
        default: {
          anchors_.clear();
          path_.clear();
          record_line(line_of(*event));
          ATHANOR_TRY(Value root, compose(*event, 0));
          return std::optional(std::move(root));
        }
      }
    }
  }

 private:
  Result<Value> compose(const yaml_event_t& event, int depth) {
    ++nodes_;
    switch (event.type) {
      case YAML_ALIAS_EVENT:
        return alias(text_of(event.data.alias.anchor), depth);
      case YAML_SCALAR_EVENT: {
        ATHANOR_TRY(PlainScalar scalar, resolve(event));
        if (scalar.type == PlainScalar::Type::NotFinite) {
          return Error::bad_request("error converting YAML to JSON: json: unsupported value: " +
                                    not_finite_name(scalar.number));
        }
        define(text_of(event.data.scalar.anchor),
               {.value = scalar.value, .nodes = 1, .complete = true});
        return scalar.value;
      }
      case YAML_SEQUENCE_START_EVENT:
        return container(text_of(event.data.sequence_start.anchor), depth, &Composer::sequence);
      case YAML_MAPPING_START_EVENT:
        return container(text_of(event.data.mapping_start.anchor), depth, &Composer::mapping);
      default:
        break;
    }
    return yaml_error(line_of(event), "unexpected end of document");
  }

  Result<Value> container(std::string_view anchor, int depth,
                          Result<Value> (Composer::*read)(int)) {
    if (depth >= kMaxDepth) {
      return yaml_error("exceeded max depth");
    }
    const std::string name(anchor);  // the event that holds it goes before the container ends
    const std::size_t before = nodes_;
    define(name, {});
    const int outer = std::exchange(deepest_, depth + 1);
    ATHANOR_TRY(Value value, (this->*read)(depth + 1));
    define(name, {.value = value,
                  .nodes = nodes_ - before + 1,
                  .levels = deepest_ - depth,
                  .complete = true});
    deepest_ = std::max(deepest_, outer);
    return value;
  }

  void define(std::string_view name, Anchor anchor) {
    if (!name.empty()) {
      anchors_.insert_or_assign(std::string(name), std::move(anchor));
    }
  }

  // An anchor within an anchor adds its levels to those around the alias.
  Result<Value> alias(std::string_view name, int depth) {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return yaml_error("unknown anchor '" + std::string(name) + "' referenced");
    }
    if (!found->second.complete) {
      return yaml_error("anchor '" + std::string(name) + "' value contains itself");
    }
    if (depth + found->second.levels > kMaxDepth) {
      return yaml_error("exceeded max depth");
    }
    deepest_ = std::max(deepest_, depth + found->second.levels);
    alias_nodes_ += found->second.nodes;
    nodes_ += found->second.nodes;
    if (alias_nodes_ > kMaxAliasNodes) {
      return yaml_error("document contains excessive aliasing");
    }
    return found->second.value;
  }

  Result<Value> sequence(int depth) {
    std::vector<Value> items;
    while (true) {
      ATHANOR_TRY(const Event event, events_.next());
      if (event->type == YAML_SEQUENCE_END_EVENT) {
        return Value::list(std::move(items));
      }
      const std::size_t length = path_.size();
      if (tracks_paths()) {
        path_ += "[" + std::to_string(items.size()) + "]";
        record_line(line_of(*event));
      }
      ATHANOR_TRY(Value item, compose(*event, depth));
      path_.resize(length);
      items.push_back(std::move(item));
    }
  }

  Result<Value> mapping(int depth) {
    Mapping result;
    while (true) {
      ATHANOR_TRY(const Event event, events_.next());
      if (event->type == YAML_MAPPING_END_EVENT) {
        return std::move(result).finish();
      }
      ATHANOR_TRY(const KeyNode key, compose_key(*event, depth));
      ATHANOR_TRY(const Event value_event, events_.next());
      if (key.merge) {
        ATHANOR_TRY(const Value source, compose(*value_event, depth));
        ATHANOR_TRY_VOID(add_merge(source, result));
        continue;
      }
      const std::size_t length = path_.size();
      if (tracks_paths()) {
        path_ += path_.empty() ? "" : ".";
        path_ += key.text;
      }
      const auto place = result.place(key.text);
      if (place && options_.strict) {
        return yaml_error("unmarshal errors:\n  " + repeated_key(value_event, key));
      }
      const bool repeats = place && options_.repeated_keys != nullptr;
      const std::string repeated = repeats ? repeated_key(value_event, key) : std::string();
      if (place && options_.duplicates != nullptr && budget_.take(path_.size())) {
        options_.duplicates->push_back(path_);
      }
      record_line(line_of(*event));
      ATHANOR_TRY(Value value, compose(*value_event, depth));
      path_.resize(length);
      if (repeats && budget_.take(repeated.size())) {
        options_.repeated_keys->push_back(repeated);
      }
      if (place) {
        result.members[*place].value = std::move(value);
      } else {
        result.add(key.text, std::move(value));
      }
    }
  }

  static std::string repeated_key(const Event& value, const KeyNode& key) {
    return "line " + std::to_string(line_of(*value)) + ": key " + go_quote(key.text) +
           " already set in map";
  }

  static Result<void> add_merge(const Value& source, Mapping& mapping) {
    if (source.is_object()) {
      mapping.merged.push_back(source);
      return {};
    }
    for (const Value& item : source.items()) {
      if (!item.is_object()) {
        return yaml_error("map merge requires map or sequence of maps as the value");
      }
      mapping.merged.push_back(item);
    }
    if (!source.is_list()) {
      return yaml_error("map merge requires map or sequence of maps as the value");
    }
    return {};
  }

  Result<KeyNode> compose_key(const yaml_event_t& event, int depth) {
    if (event.type != YAML_SCALAR_EVENT) {
      ATHANOR_TRY(const Value value, compose(event, depth));
      return key_text(value, value.as_double(), line_of(event));
    }
    ATHANOR_TRY(const PlainScalar scalar, resolve(event));
    if (scalar.type == PlainScalar::Type::Merge) {
      return KeyNode{.text = {}, .merge = true};
    }
    if (scalar.type == PlainScalar::Type::NotFinite) {
      return KeyNode{.text = scalar.number > 0 ? ".inf" : scalar.number < 0 ? "-.inf" : ".nan"};
    }
    define(text_of(event.data.scalar.anchor),
           {.value = scalar.value, .nodes = 1, .complete = true});
    if (scalar.type == PlainScalar::Type::Float) {
      return KeyNode{.text = format_g(scalar.number)};
    }
    return key_text(scalar.value, 0, line_of(event));
  }

  // JSON keys are strings: 1 is "1", y is "true".
  static Result<KeyNode> key_text(const Value& value, double number, std::size_t line) {
    switch (value.type()) {
      case Value::Type::String:
        return KeyNode{.text = value.str()};
      case Value::Type::Bool:
        return KeyNode{.text = value.as_bool() ? "true" : "false"};
      case Value::Type::Int:
        return KeyNode{.text = std::to_string(value.as_int())};
      case Value::Type::Uint:
        return KeyNode{.text = std::to_string(value.as_uint())};
      case Value::Type::Double:
        return KeyNode{.text = format_g(number)};
      case Value::Type::Null:
      case Value::Type::List:
      case Value::Type::Object:
        break;
    }
    return yaml_error(line, "unsupported map key: keys are strings, numbers or booleans");
  }

  // A scalar by its tag, its quotes and its text.
  static Result<PlainScalar> resolve(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const std::string_view tag = text_of(scalar.tag);
    const PlainScalar as_string{.type = PlainScalar::Type::String, .value = text};
    constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "!") {
      const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && tag.empty();
      return plain ? resolve_plain(text) : as_string;
    }
    if (!tag.starts_with(kPrefix)) {
      return as_string;  // a private tag
    }
    return resolve_tagged(tag.substr(kPrefix.size()), text, line_of(event));
  }

  static Result<PlainScalar> resolve_tagged(std::string_view tag, std::string_view text,
                                            std::size_t line) {
    using Type = PlainScalar::Type;
    const PlainScalar as_string{.type = Type::String, .value = text};
    if (tag == "binary") {
      const auto data = base64_decode(text);
      if (!data) {
        return yaml_error(line, "!!binary value contains invalid base64 data");
      }
      return PlainScalar{.type = Type::String, .value = utf8::repaired(*data)};
    }
    const bool known = tag == "int" || tag == "float" || tag == "bool" || tag == "null" ||
                       tag == "timestamp" || tag == "merge";
    if (!known) {
      return as_string;
    }
    PlainScalar scalar = resolve_plain(text);
    const bool number = scalar.type == Type::Integer || scalar.type == Type::Float ||
                        scalar.type == Type::NotFinite;
    const bool fits = (tag == "int" && scalar.type == Type::Integer) ||
                      (tag == "float" && number) || (tag == "bool" && scalar.type == Type::Bool) ||
                      (tag == "null" && scalar.type == Type::Null) ||
                      (tag == "timestamp" && scalar.type == Type::Timestamp) ||
                      (tag == "merge" && scalar.type == Type::Merge);
    if (!fits) {
      return yaml_error("cannot decode " + std::string(type_name(scalar.type)) + " `" +
                        std::string(text) + "` as a !!" + std::string(tag));
    }
    return scalar;
  }

  static std::string_view type_name(PlainScalar::Type type) {
    switch (type) {
      case PlainScalar::Type::Null:
        return "!!null";
      case PlainScalar::Type::Bool:
        return "!!bool";
      case PlainScalar::Type::Integer:
        return "!!int";
      case PlainScalar::Type::Float:
      case PlainScalar::Type::NotFinite:
        return "!!float";
      case PlainScalar::Type::Timestamp:
        return "!!timestamp";
      case PlainScalar::Type::Merge:
        return "!!merge";
      case PlainScalar::Type::String:
        break;
    }
    return "!!str";
  }

  static std::string not_finite_name(double number) {
    return number > 0 ? "+Inf" : number < 0 ? "-Inf" : "NaN";
  }

  [[nodiscard]] bool tracks_paths() const {
    return options_.lines != nullptr || options_.duplicates != nullptr;
  }
  void record_line(std::size_t line) {
    if (options_.lines != nullptr) {
      options_.lines->emplace_back(path_, line);
    }
  }

  Events events_;
  const ParseOptions& options_;
  std::map<std::string, Anchor, std::less<>> anchors_{};
  std::string path_{};           // of the node being read
  IssueBudget budget_{};         // of options_.duplicates
  std::size_t nodes_ = 0;        // of the stream so far, aliases expanded
  std::size_t alias_nodes_ = 0;  // of those, what aliases brought
  int deepest_ = 0;              // level within the container being read, aliases expanded
};

}  // namespace

Result<Value> parse(std::string_view text, const ParseOptions& options) {
  ATHANOR_TRY(auto document, Composer(text, options).document());
  return document ? *std::move(document) : Value();
}

Result<std::vector<Value>> parse_all(std::string_view text, const ParseOptions& options) {
  Composer composer(text, options);
  std::vector<Value> documents;
  while (true) {
    ATHANOR_TRY(auto document, composer.document());
    if (!document) {
      return documents;
    }
    if (!document->is_null()) {
      documents.push_back(*std::move(document));
    }
  }
}

}  // namespace athanor::yaml
