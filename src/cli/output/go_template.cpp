// SPDX-License-Identifier: Apache-2.0
// A template is a list of texts and actions; an action's pipeline is a chain of commands of words.
#include "cli/output/go_template.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cli/output/template_functions.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

Error wrong_template(std::string_view action, std::string_view why) {
  return wrong_usage(fmt::format("go-template: {{{{{}}}}}: {}", action, why));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// A word of a pipeline: a literal, a path, a function, or a pipeline in parentheses.
struct Word;
using TemplateCommand = std::vector<Word>;
using TemplatePipeline = std::vector<TemplateCommand>;
struct Word {
  enum class Type : std::uint8_t { Literal, Path, Function, Nested };
  Type type = Type::Literal;
  Value literal{};
  std::string variable{};           // of a path: "$x"; empty: the dot
  std::vector<std::string> path{};  // members
  std::string function{};
  std::shared_ptr<const TemplatePipeline> nested{};
};

// Reads one pipeline.
class PipelineReader {
 public:
  PipelineReader(std::string_view text, std::string_view action) : text_(text), action_(action) {}

  Result<TemplatePipeline> read() {
    TemplatePipeline pipeline;
    do {
      ATHANOR_TRY(TemplateCommand command, read_command());
      if (command.empty()) {
        return wrong_template(action_, "a value is missing");
      }
      pipeline.push_back(std::move(command));
    } while (take('|'));
    if (!rest().empty() && !nested_) {
      return wrong_template(action_, fmt::format("unexpected \"{}\"", rest()));
    }
    return pipeline;
  }
  [[nodiscard]] std::string_view rest() { return trimmed(text_.substr(at_)); }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool take(char c) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  Result<TemplateCommand> read_command() {
    TemplateCommand command;
    for (skip_space(); at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')'; skip_space()) {
      ATHANOR_TRY(Word word, read_word());
      command.push_back(std::move(word));
    }
    return command;
  }
  Result<Word> read_word() {
    const char first = text_[at_];
    if (first == '(') {
      ++at_;
      PipelineReader inner(text_.substr(at_), action_);
      inner.nested_ = true;
      ATHANOR_TRY(TemplatePipeline nested, inner.read());
      at_ += inner.at_;
      if (!take(')')) {
        return wrong_template(action_, "\")\" is missing");
      }
      Word word{.type = Word::Type::Nested,
                .nested = std::make_shared<const TemplatePipeline>(std::move(nested))};
      if (at_ < text_.size() && text_[at_] == '.') {
        ATHANOR_TRY(Word path, read_path(take_word()));
        word.path = std::move(path.path);
      }
      return word;
    }
    if (first == '"' || first == '`') {
      return read_string(first);
    }
    const std::string_view word = take_word();
    if (first == '.' || first == '$') {
      return read_path(word);
    }
    if (word == "true" || word == "false") {
      return Word{.literal = Value(word == "true")};
    }
    if (word == "nil") {
      return Word{};
    }
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && stop == word.data() + word.size()) {
      return Word{.literal = Value(number)};
    }
    if (!is_template_function(word)) {
      return wrong_template(action_, fmt::format("function \"{}\" is not defined", word));
    }
    return Word{.type = Word::Type::Function, .function = std::string(word)};
  }
  std::string_view take_word() {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n|()", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }
  Result<Word> read_string(char quote) {
    std::string text;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[++at_];
        text += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      } else {
        text += text_[at_];
      }
    }
    if (at_ >= text_.size()) {
      return wrong_template(action_, "a quote is not closed");
    }
    ++at_;
    return Word{.literal = Value(text)};
  }
  Result<Word> read_path(std::string_view word) const {
    Word path{.type = Word::Type::Path};
    if (word.front() == '$') {
      const std::size_t dot = std::min(word.find('.'), word.size());
      path.variable = std::string(word.substr(0, dot));
      word.remove_prefix(dot);
    }
    while (!word.empty() && word != ".") {
      const std::size_t next = std::min(word.find('.', 1), word.size());
      const std::string_view member = word.substr(1, next - 1);
      if (member.empty()) {
        return wrong_template(action_, "a name is missing behind \".\"");
      }
      path.path.emplace_back(member);
      word.remove_prefix(next);
    }
    return path;
  }

  std::string_view text_;
  std::string_view action_;
  std::size_t at_ = 0;
  bool nested_ = false;
};

}  // namespace

struct GoTemplate::Node {
  enum class Type : std::uint8_t { List, Text, Print, Assign, If, With, Range };
  Type type = Type::List;
  std::string text{};    // of Text; of others the action
  std::string key{};     // Range: the first of two variables
  std::string target{};  // Assign, Range: the variable
  TemplatePipeline pipeline{};
  std::vector<Node> body{};
  std::vector<Node> otherwise{};
};

namespace {

using Node = GoTemplate::Node;

// Splits a template into texts and actions, and nests them.
class TemplateReader {
 public:
  explicit TemplateReader(std::string_view text) : text_(text) {}

  Result<Node> read() {
    Node root;
    ATHANOR_TRY(const std::string end, read_list(root.body));
    if (!end.empty()) {
      return wrong_template(end, "nothing is open that it could end");
    }
    return root;
  }

 private:
  // Reads nodes until the end of the text (returns ""), or an action "end" or "else ...".
  Result<std::string> read_list(std::vector<Node>& nodes) {
    while (at_ < text_.size()) {
      const std::size_t open = text_.find("{{", at_);
      std::string_view plain =
          text_.substr(at_, open == std::string_view::npos ? open : open - at_);
      const bool trims_before =
          open != std::string_view::npos && text_.substr(open + 2).starts_with("- ");
      plain = trims_before ? plain.substr(0, plain.find_last_not_of(" \t\r\n") + 1) : plain;
      if (trims_next_) {
        plain.remove_prefix(std::min(plain.find_first_not_of(" \t\r\n"), plain.size()));
        trims_next_ = false;
      }
      if (!plain.empty()) {
        nodes.push_back({.type = Node::Type::Text, .text = std::string(plain)});
      }
      if (open == std::string_view::npos) {
        at_ = text_.size();
        return std::string();
      }
      const std::size_t close = text_.find("}}", open);
      if (close == std::string_view::npos) {
        return wrong_template(text_.substr(open + 2), "\"}}\" is missing");
      }
      std::string_view action = text_.substr(open + 2, close - open - 2);
      at_ = close + 2;
      if (action.starts_with("- ")) {
        action.remove_prefix(1);
      }
      if (action.ends_with(" -")) {
        action.remove_suffix(1);
        trims_next_ = true;
      }
      action = trimmed(action);
      const std::string_view word = action.substr(0, action.find_first_of(" \t\r\n("));
      if (word == "end" || word == "else") {
        return std::string(action);
      }
      if (!action.starts_with("/*")) {
        ATHANOR_TRY(Node node, read_action(action, word));
        nodes.push_back(std::move(node));
      }
    }
    return std::string();
  }

  Result<Node> read_action(std::string_view action, std::string_view word) {
    Node node{.text = std::string(action)};
    if (word != "if" && word != "with" && word != "range") {
      node.type = Node::Type::Print;
      ATHANOR_TRY_VOID(read_pipeline(node, action));
      if (!node.target.empty()) {
        node.type = Node::Type::Assign;
      }
      return node;
    }
    node.type = word == "if"     ? Node::Type::If
                : word == "with" ? Node::Type::With
                                 : Node::Type::Range;
    ATHANOR_TRY_VOID(read_pipeline(node, trimmed(action.substr(word.size()))));
    ATHANOR_TRY(const std::string end, read_list(node.body));
    if (end.starts_with("else")) {
      const std::string_view more = trimmed(std::string_view(end).substr(4));
      if (!more.empty()) {  // "else if": a nested action that takes the end
        ATHANOR_TRY(Node nested, read_action(more, more.substr(0, more.find(' '))));
        node.otherwise.push_back(std::move(nested));
        return node;
      }
      ATHANOR_TRY(const std::string last, read_list(node.otherwise));
      if (last != "end") {
        return wrong_template(action, "{{end}} is missing");
      }
      return node;
    }
    if (end != "end") {
      return wrong_template(action, "{{end}} is missing");
    }
    return node;
  }

  // "$x := pipeline", "$i, $x := pipeline" or "pipeline".
  static Result<void> read_pipeline(Node& node, std::string_view text) {
    const std::size_t sign = text.find(":=");
    const std::size_t assign = text.find(" = ");
    if (text.starts_with('$') &&
        (sign != std::string_view::npos || assign != std::string_view::npos)) {
      const std::size_t at = std::min(sign, assign);
      std::string_view names = text.substr(0, at);
      if (const std::size_t comma = names.find(','); comma != std::string_view::npos) {
        node.key = std::string(trimmed(names.substr(0, comma)));
        names.remove_prefix(comma + 1);
      }
      node.target = std::string(trimmed(names));
      text.remove_prefix(at + (at == sign ? 2 : 3));
    }
    PipelineReader reader(text, node.text);
    ATHANOR_TRY(node.pipeline, reader.read());
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool trims_next_ = false;
};

class Renderer {
 public:
  explicit Renderer(const Value& data) { variables_["$"] = data; }

  Result<void> run(const std::vector<Node>& nodes, const Value& dot, std::string& out) {
    for (const Node& node : nodes) {
      ATHANOR_TRY_VOID(run(node, dot, out));
    }
    return {};
  }

 private:
  Result<void> run(const Node& node, const Value& dot, std::string& out) {
    if (node.type == Node::Type::Text) {
      out += node.text;
      return {};
    }
    ATHANOR_TRY(const Value value, evaluate(node.pipeline, dot, node.text));
    switch (node.type) {
      case Node::Type::Print:
        out += template_text(value);
        return {};
      case Node::Type::Assign:
        variables_[node.target] = value;
        return {};
      case Node::Type::If:
        return run(template_truth(value) ? node.body : node.otherwise, dot, out);
      case Node::Type::With:
        return template_truth(value) ? run(node.body, value, out) : run(node.otherwise, dot, out);
      case Node::Type::Range:
        return run_range(node, value, dot, out);
      case Node::Type::List:
      case Node::Type::Text:
        break;
    }
    return {};
  }

  Result<void> run_range(const Node& node, const Value& value, const Value& dot, std::string& out) {
    std::vector<std::pair<Value, Value>> entries;
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      entries.emplace_back(Value(static_cast<std::int64_t>(i)), value.items()[i]);
    }
    for (const Member& member : value.members()) {
      entries.emplace_back(Value(member.key()), member.value);
    }
    for (const auto& [key, item] : entries) {
      if (!node.key.empty()) {
        variables_[node.key] = key;
      }
      if (!node.target.empty()) {
        variables_[node.target] = item;
      }
      ATHANOR_TRY_VOID(run(node.body, item, out));
    }
    return entries.empty() ? run(node.otherwise, dot, out) : Result<void>();
  }

  Result<Value> evaluate(const TemplatePipeline& pipeline, const Value& dot,
                         const std::string& action) {
    std::optional<Value> last;
    for (const TemplateCommand& command : pipeline) {
      const Word& first = command.front();
      std::vector<Value> arguments;
      for (std::size_t i = first.type == Word::Type::Function ? 1 : 0; i < command.size(); ++i) {
        ATHANOR_TRY(Value argument, value_of(command[i], dot, action));
        arguments.push_back(std::move(argument));
      }
      if (last) {
        arguments.push_back(*std::move(last));
      }
      if (first.type == Word::Type::Function) {
        auto result = call_template_function(first.function, arguments);
        if (!result.ok()) {
          return wrong_template(action, result.error().message);
        }
        last = *std::move(result);
      } else if (arguments.size() != 1) {
        return wrong_template(action, "a value takes no arguments");
      } else {
        last = std::move(arguments.front());
      }
    }
    return *std::move(last);
  }

  Result<Value> value_of(const Word& word, const Value& dot, const std::string& action) {
    switch (word.type) {
      case Word::Type::Literal:
        return word.literal;
      case Word::Type::Nested: {
        ATHANOR_TRY(const Value value, evaluate(*word.nested, dot, action));
        return member_of(value, word.path);
      }
      case Word::Type::Function:
        return call_template_function(word.function, {});
      case Word::Type::Path:
        break;
    }
    const auto variable = variables_.find(word.variable);
    if (!word.variable.empty() && variable == variables_.end()) {
      return wrong_template(action, fmt::format("undefined variable \"{}\"", word.variable));
    }
    return member_of(word.variable.empty() ? dot : variable->second, word.path);
  }

  static Value member_of(Value value, const std::vector<std::string>& path) {
    for (const std::string& member : path) {
      const Value* found = value.find(member);
      if (found == nullptr) {
        return {};
      }
      value = Value(*found);
    }
    return value;
  }

  std::map<std::string, Value> variables_{};
};

}  // namespace

Result<GoTemplate> GoTemplate::parse(std::string_view text) {
  ATHANOR_TRY(Node root, TemplateReader(text).read());
  GoTemplate parsed;
  parsed.root_ = std::make_shared<const Node>(std::move(root));
  return parsed;
}

Result<std::string> GoTemplate::render(const Value& data) const {
  std::string out;
  ATHANOR_TRY_VOID(Renderer(data).run(root_->body, data, out));
  return out;
}

}  // namespace athanor::cli
