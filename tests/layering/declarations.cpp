// SPDX-License-Identifier: Apache-2.0
#include "layering/declarations.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace athanor::layering {
namespace {

struct Token {
  std::string_view text{};
  std::size_t line = 0;
};
using Tokens = std::vector<Token>;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_letter_or_digit(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

bool is_name(std::string_view token) {
  return !token.empty() && is_letter(token.front());
}

// The index behind the preprocessor directive that begins at `i`, with its continuation lines.
std::size_t directive_end(std::string_view code, std::size_t i) {
  while (i < code.size() && code[i] != '\n') {
    i += code[i] == '\\' ? 2 : 1;
  }
  return i;
}

std::size_t token_end(std::string_view code, std::size_t i) {
  const std::string_view rest = code.substr(i);
  if (rest.starts_with("::") || rest.starts_with("->")) {
    return i + 2;
  }
  std::size_t end = i + 1;
  if (is_letter_or_digit(code[i])) {
    while (end < code.size() && is_letter_or_digit(code[end])) {
      ++end;
    }
  }
  return end;
}

Tokens tokens_of(std::string_view code) {
  Tokens tokens;
  std::size_t counted = 0;  // lines are counted up to here
  std::size_t line = 1;
  for (std::size_t i = 0; i < code.size();) {
    const char c = code[i];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\\') {
      ++i;
    } else if (c == '#') {
      i = directive_end(code, i);
    } else {
      const std::string_view passed = code.substr(counted, i - counted);
      line += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
      counted = i;
      const std::size_t end = token_end(code, i);
      tokens.push_back({code.substr(i, end - i), line});
      i = end;
    }
  }
  return tokens;
}

bool contains(std::span<const Token> tokens, std::string_view text) {
  return std::any_of(tokens.begin(), tokens.end(), [&](const Token& t) { return t.text == text; });
}

// Words that a declaration may begin with and that say nothing about its name.
constexpr std::array<std::string_view, 6> kSpecifiers{"static",    "inline", "constexpr",
                                                      "constinit", "extern", "thread_local"};

// Words after which a name and a parenthesis are a call and no declaration.
constexpr std::array<std::string_view, 9> kStatements{"return", "else", "throw", "case",     "new",
                                                      "and",    "or",   "not",   "co_return"};

// Words before the name of a type that is declared or defined.
constexpr std::array<std::string_view, 6> kDeclaring{"struct", "class",     "enum",
                                                     "using",  "namespace", "typename"};

bool is_type_or_constant(std::string_view name) {
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  return !name.empty() && (is_capital(name.front()) ||
                           (name.size() > 1 && name.front() == 'k' && is_capital(name[1])));
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Reader {
 public:
  explicit Reader(std::string_view code) : tokens_(tokens_of(code)) {}

  std::vector<Declaration> read() {
    while (at_ < tokens_.size()) {
      if (text() == "}") {
        if (!spaces_.empty()) {
          spaces_.pop_back();
        }
        ++at_;
      } else if (text() == ";") {
        ++at_;
      } else if (text() == "namespace") {
        read_namespace();
      } else {
        read_declaration();
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string_view text() const {
    return at_ < tokens_.size() ? tokens_[at_].text : std::string_view();
  }

  // Moves behind the bracket that closes the one at `at_`.
  void skip_balanced(std::string_view open, std::string_view close) {
    for (std::size_t depth = 0; at_ < tokens_.size(); ++at_) {
      depth += text() == open ? 1 : 0;
      if (text() == close && --depth == 0) {
        ++at_;
        return;
      }
    }
  }

  // Moves behind the next semicolon outside of brackets.
  void skip_statement() {
    while (at_ < tokens_.size() && text() != ";") {
      if (text() == "{") {
        skip_balanced("{", "}");
      } else if (text() == "(") {
        skip_balanced("(", ")");
      } else {
        ++at_;
      }
    }
    ++at_;
  }

  [[nodiscard]] std::string space() const {
    std::string joined;
    for (const std::string& name : spaces_) {
      if (!name.empty()) {
        joined += (joined.empty() ? "" : "::") + name;
      }
    }
    return joined;
  }

  [[nodiscard]] bool is_anonymous() const {
    return std::find(spaces_.begin(), spaces_.end(), std::string()) != spaces_.end();
  }

  void read_namespace() {
    const std::size_t line = tokens_[at_].line;
    std::string name;
    for (++at_; at_ < tokens_.size() && text() != "{" && text() != "=" && text() != ";"; ++at_) {
      name += text();
    }
    if (text() == "{") {
      spaces_.push_back(std::move(name));
      ++at_;
      return;
    }
    found_.push_back(
        {std::move(name), space(), NameKind::Alias, is_anonymous(), is_anonymous(), line});
    skip_statement();
  }

  void skip_prefix() {
    while (at_ < tokens_.size()) {
      if (text() == "template") {
        ++at_;
        skip_balanced("<", ">");
      } else if (text() == "[") {
        skip_balanced("[", "]");
      } else if (text() == "requires") {
        ++at_;
        if (text() == "(") {
          skip_balanced("(", ")");
        }
      } else {
        return;
      }
    }
  }

  void read_declaration() {
    skip_prefix();
    const std::size_t start = at_;
    while (at_ < tokens_.size() && text() != ";" && text() != "{" && text() != "=" &&
           text() != "}") {
      if (text() == "(") {
        skip_balanced("(", ")");
      } else if (text() == "operator") {
        while (at_ < tokens_.size() && text() != "(") {
          ++at_;
        }
      } else {
        ++at_;
      }
    }
    const std::span<const Token> head(tokens_.data() + start, at_ - start);
    const bool has_body = text() == "{";
    const bool is_function = add(head);
    if (!has_body || !is_function) {
      skip_statement();
      return;
    }
    // A constructor's initialisers may have braces before its body.
    do {
      at_ += text() == "," ? 1 : 0;
      while (at_ < tokens_.size() && text() != "{") {
        ++at_;
      }
      skip_balanced("{", "}");
    } while (text() == "," || text() == "{");
  }

  void put(std::span<const Token> head, const Token& name, NameKind kind) {
    const bool constant = kind == NameKind::Value && !contains(head, "extern") &&
                          !contains(head, "inline") &&
                          (contains(head, "constexpr") || contains(head, "const"));
    found_.push_back({std::string(name.text), space(), kind, is_anonymous(),
                      is_anonymous() || contains(head, "static") || constant, name.line});
  }

  // Adds what `head`, a declaration up to its body, initialiser or end, declares. Returns true if
  // a brace behind it opens a function's body.
  bool add(std::span<const Token> head) {
    const std::span<const Token> whole = head;
    while (!head.empty() && is_one_of(kSpecifiers, head.front().text)) {
      head = head.subspan(1);
    }
    if (head.empty()) {
      return false;
    }
    const std::string_view first = head.front().text;
    if (first == "using" || first == "concept") {
      if (text() == "=" && head.size() == 2) {
        put(whole, head[1], NameKind::Alias);
      }
      return false;
    }
    if (first == "struct" || first == "class" || first == "enum" || first == "union") {
      return add_type(whole, head);
    }
    return add_other(whole, head);
  }

  bool add_type(std::span<const Token> whole, std::span<const Token> head) {
    std::size_t i = 1;
    while (i < head.size() && (head[i].text == "class" || head[i].text.starts_with("ATHANOR_"))) {
      ++i;
      if (i < head.size() && head[i].text == "(") {
        while (i < head.size() && head[i].text != ")") {
          ++i;
        }
        ++i;
      }
    }
    if (i < head.size() && (i + 1 == head.size() || head[i + 1].text != "::")) {
      put(whole, head[i], NameKind::Type);
    }
    return false;
  }

  bool add_other(std::span<const Token> whole, std::span<const Token> head) {
    if (contains(head, "operator")) {
      return true;
    }
    std::size_t angles = 0;
    std::size_t last = head.size();  // the last name outside of <> and []
    for (std::size_t i = 0; i < head.size(); ++i) {
      const std::string_view token = head[i].text;
      if (token == "<") {
        ++angles;
      } else if (token == ">" && angles > 0) {
        --angles;
      } else if (angles == 0 && token == "[") {
        break;
      } else if (angles == 0 && token == "(") {
        if (last != head.size()) {
          put_unless_member(whole, head, last, NameKind::Function);
        }
        return true;
      } else if (angles == 0 && is_name(token)) {
        last = i;
      }
    }
    if (last != head.size() && last > 0) {
      put_unless_member(whole, head, last, NameKind::Value);
    }
    return false;
  }

  void put_unless_member(std::span<const Token> whole, std::span<const Token> head, std::size_t at,
                         NameKind kind) {
    const std::string_view name = head[at].text;
    const bool is_member = at > 0 && (head[at - 1].text == "::" || head[at - 1].text == "~");
    if (!is_member && at > 0 && name != "static_assert" && !name.starts_with("ATHANOR_")) {
      put(whole, head[at], kind);
    }
  }

  Tokens tokens_;
  std::size_t at_ = 0;
  std::vector<std::string> spaces_{};
  std::vector<Declaration> found_{};
};

}  // namespace

std::vector<Declaration> declarations_of(std::string_view code) {
  return Reader(code).read();
}

std::set<Use> unqualified_uses_of(std::string_view code) {
  const Tokens tokens = tokens_of(code);
  std::set<Use> uses;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view before = i > 0 ? tokens[i - 1].text : std::string_view(";");
    const std::string_view after = i + 1 < tokens.size() ? tokens[i + 1].text : std::string_view();
    const bool qualified = before == "::" || before == "." || before == "->";
    // `Type name` and `Type<x> name` declare, `x & name(y)` does not occur. Names of types and
    // constants begin with a capital or k: no variable is called so.
    const bool after_type = (is_name(before) && !is_one_of(kStatements, before)) || before == ">" ||
                            ((before == "&" || before == "*") && i > 1 &&
                             (is_name(tokens[i - 2].text) || tokens[i - 2].text == ">"));
    const bool declared =
        is_type_or_constant(tokens[i].text) ? is_one_of(kDeclaring, before) : after_type;
    if (is_name(tokens[i].text) && !qualified && !declared) {
      uses.insert({tokens[i].text, after == "("});
    }
  }
  return uses;
}

}  // namespace athanor::layering
