// SPDX-License-Identifier: Apache-2.0
// Selector texts: "a=b,c in (d,e),!f" and "spec.nodeName=n1,status.phase!=Failed".
#include <algorithm>
#include <set>

#include "kube/names/names.hpp"
#include "kube/names/selector.hpp"
#include "kube/names/selector_requirement.hpp"
#include "kube/text/text.hpp"

namespace athanor {
namespace {

using Operator = LabelRequirement::Operator;

std::string invalid_value(std::string_view path, std::string_view value, std::string_view what) {
  return std::string(path) + ": Invalid value: " + go_quote(value) + ": " + std::string(what);
}

enum class TokenType : std::uint8_t {
  End,
  Word,
  In,
  NotIn,
  Comma,
  Open,
  Close,
  Not,
  Equals,
  NotEquals,
  Greater,
  Less,
};

struct Token {
  TokenType type = TokenType::End;
  std::string_view text{};
};

// Splits a selector into tokens. `in` and `notin` are operators only after a key.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) {}

  // The next token, left in place.
  [[nodiscard]] Token peek() const {
    Lexer copy = *this;
    return copy.take();
  }
  // As peek(), with `in` and `notin` read as words.
  [[nodiscard]] Token peek_word() const {
    Lexer copy = *this;
    return copy.take_word();
  }
  Token take() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    if (rest_.empty()) {
      return {};
    }
    if (const std::size_t width = symbol_width(); width > 0) {
      return cut(width, symbol_type(rest_.substr(0, width)));
    }
    const std::size_t width = std::min(rest_.find_first_of(" \t\r\n=!(),<>"), rest_.size());
    const std::string_view word = rest_.substr(0, width);
    return cut(width, word == "in"      ? TokenType::In
                      : word == "notin" ? TokenType::NotIn
                                        : TokenType::Word);
  }
  Token take_word() {
    Token token = take();
    if (token.type == TokenType::In || token.type == TokenType::NotIn) {
      token.type = TokenType::Word;
    }
    return token;
  }

 private:
  [[nodiscard]] std::size_t symbol_width() const {
    if (rest_.starts_with("==") || rest_.starts_with("!=")) {
      return 2;
    }
    return std::string_view("=!(),<>").find(rest_.front()) == std::string_view::npos ? 0 : 1;
  }
  static TokenType symbol_type(std::string_view symbol) {
    if (symbol == "!=") {
      return TokenType::NotEquals;
    }
    switch (symbol.front()) {
      case '!':
        return TokenType::Not;
      case '(':
        return TokenType::Open;
      case ')':
        return TokenType::Close;
      case ',':
        return TokenType::Comma;
      case '<':
        return TokenType::Less;
      case '>':
        return TokenType::Greater;
      default:
        return TokenType::Equals;
    }
  }
  Token cut(std::size_t width, TokenType type) {
    const Token token{.type = type, .text = rest_.substr(0, width)};
    rest_.remove_prefix(width);
    return token;
  }

  std::string_view rest_;
};

Error found(const Token& token, std::string_view expected) {
  return Error::bad_request("found '" + std::string(token.text) + "'" + std::string(expected));
}

// The reference's parser, rule by rule: its messages name what each rule expects.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Result<std::vector<LabelRequirement>> run() {
    std::vector<LabelRequirement> requirements;
    while (true) {
      const Token next = lexer_.peek_word();
      if (next.type == TokenType::End) {
        return requirements;
      }
      if (next.type != TokenType::Word && next.type != TokenType::Not) {
        return found(next, ", expected: !, identifier, or 'end of string'");
      }
      auto requirement = parse_requirement();
      if (!requirement.ok()) {
        return requirement.error().with_context("unable to parse requirement");
      }
      requirements.push_back(*std::move(requirement));
      const Token end = lexer_.take_word();
      if (end.type == TokenType::End) {
        return requirements;
      }
      if (end.type != TokenType::Comma) {
        return found(end, ", expected: ',' or 'end of string'");
      }
      const Token after = lexer_.peek_word();
      if (after.type != TokenType::Word && after.type != TokenType::Not) {
        return found(after, ", expected: identifier after ','");
      }
    }
  }

 private:
  Result<LabelRequirement> parse_requirement() {
    LabelRequirement requirement;
    Token key = lexer_.take_word();
    const bool negated = key.type == TokenType::Not;
    if (negated) {
      key = lexer_.take_word();
    }
    if (key.type != TokenType::Word) {
      return found(key, ", expected: identifier");
    }
    requirement.key = key.text;
    // A bad key is reported before a bad operator.
    if (const NameError broken = validate_label_key(requirement.key)) {
      return Error::bad_request(invalid_value("<nil>", requirement.key, *broken));
    }
    const TokenType next = lexer_.peek_word().type;
    if (negated) {
      requirement.op = Operator::NotExists;
    } else if (next != TokenType::End && next != TokenType::Comma) {
      ATHANOR_TRY_VOID(parse_comparison(requirement));
    }
    ATHANOR_TRY_VOID(check_requirement(requirement));
    return requirement;
  }

  Result<void> parse_comparison(LabelRequirement& requirement) {
    const Token op = lexer_.take();
    switch (op.type) {
      case TokenType::In:
      case TokenType::NotIn:
        requirement.op = op.type == TokenType::In ? Operator::In : Operator::NotIn;
        return parse_set(requirement.values);
      case TokenType::Equals:
        requirement.op = Operator::In;
        break;
      case TokenType::NotEquals:
        requirement.op = Operator::NotIn;
        break;
      case TokenType::Greater:
        requirement.op = Operator::GreaterThan;
        break;
      case TokenType::Less:
        requirement.op = Operator::LessThan;
        break;
      case TokenType::End:
      case TokenType::Word:
      case TokenType::Comma:
      case TokenType::Open:
      case TokenType::Close:
      case TokenType::Not:
        return found(op, ", expected: in, notin, =, ==, !=, gt, lt");
    }
    return parse_exact_value(requirement.values);
  }

  Result<void> parse_exact_value(std::vector<std::string>& values) {
    const Token next = lexer_.peek_word();
    if (next.type == TokenType::End || next.type == TokenType::Comma) {
      values.emplace_back();
      return {};
    }
    lexer_.take_word();
    if (next.type != TokenType::Word) {
      return found(next, ", expected: identifier");
    }
    values.emplace_back(next.text);
    return {};
  }

  // "(a,b)"; an empty place is the empty value.
  Result<void> parse_set(std::vector<std::string>& values) {
    if (const Token open = lexer_.take_word(); open.type != TokenType::Open) {
      return found(open, " expected: '('");
    }
    std::set<std::string> sorted;
    const Token first = lexer_.peek_word();
    if (first.type == TokenType::Close) {
      lexer_.take_word();
      sorted.emplace();
    } else if (first.type == TokenType::Word || first.type == TokenType::Comma) {
      ATHANOR_TRY_VOID(parse_set_items(sorted));
    } else {
      return found(first, ", expected: ',', ')' or identifier");
    }
    values.assign(sorted.begin(), sorted.end());
    return {};
  }

  Result<void> parse_set_items(std::set<std::string>& values) {
    while (true) {
      // A word, or nothing where a comma or the end follows at once.
      std::string value;
      if (lexer_.peek_word().type == TokenType::Word) {
        value = lexer_.take_word().text;
      }
      values.insert(value);
      const Token next = lexer_.take_word();
      if (next.type == TokenType::Close) {
        return {};
      }
      if (next.type != TokenType::Comma) {
        return found(next,
                     value.empty() ? ", expected: ',', or identifier" : ", expected: ',' or ')'");
      }
    }
  }

  Lexer lexer_;
};

// Undoes "\\", "\," and "\=" in a field selector's value.
Result<std::string> unescape_field(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const std::string_view sequence = text.substr(i, 2);
      if (sequence.size() < 2 ||
          std::string_view("\\,=").find(sequence[1]) == std::string_view::npos) {
        return Error::bad_request("invalid field selector: invalid escape sequence: " +
                                  std::string(sequence));
      }
      value += sequence[1];
      ++i;
    } else if (text[i] == '=' || text[i] == ',') {
      return Error::bad_request("invalid field selector: unescaped character in value: " +
                                std::to_string(static_cast<int>(text[i])));
    } else {
      value += text[i];
    }
  }
  return value;
}

// Terms between commas that no backslash precedes.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

}  // namespace

Result<void> check_requirement(const LabelRequirement& requirement) {
  if (const NameError error = validate_label_key(requirement.key)) {
    return Error::bad_request(invalid_value("key", requirement.key, *error));
  }
  const auto& values = requirement.values;
  switch (requirement.op) {
    case Operator::In:
    case Operator::NotIn:
      if (values.empty()) {
        return Error::bad_request(
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
      }
      break;
    case Operator::Exists:
    case Operator::NotExists:
      if (!values.empty()) {
        return Error::bad_request(invalid_value(
            "values", values.front(), "values set must be empty for exists and does not exist"));
      }
      break;
    case Operator::GreaterThan:
    case Operator::LessThan:
      if (values.size() != 1) {
        return Error::bad_request(
            "values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required");
      }
      if (!parse_label_integer(values.front())) {
        return Error::bad_request(invalid_value(
            "values[0]", values.front(), "for 'Gt', 'Lt' operators, the value must be an integer"));
      }
      break;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const NameError error = validate_label_value(values[i])) {
      const std::string path = "values[" + std::to_string(i) + "][" + requirement.key + "]";
      return Error::bad_request(invalid_value(path, values[i], *error));
    }
  }
  return {};
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  ATHANOR_TRY(auto requirements, Parser(text).run());
  LabelSelector selector;
  selector.requirements_ = std::move(requirements);
  std::ranges::stable_sort(selector.requirements_, {}, &LabelRequirement::key);
  return selector;
}

Result<std::vector<FieldRequirement>> parse_field_selector(std::string_view text) {
  std::vector<FieldRequirement> requirements;
  for (const std::string_view term : split_terms(text)) {
    if (term.empty()) {
      continue;
    }
    const std::size_t equals = term.find('=');
    if (equals == std::string_view::npos) {
      return Error::bad_request("invalid selector: '" + std::string(text) +
                                "'; can't understand '" + std::string(term) + "'");
    }
    const bool negated = equals > 0 && term[equals - 1] == '!';
    const bool doubled = !negated && term.substr(equals).starts_with("==");
    ATHANOR_TRY(std::string value, unescape_field(term.substr(equals + (doubled ? 2 : 1))));
    requirements.push_back({.field = std::string(term.substr(0, negated ? equals - 1 : equals)),
                            .equal = !negated,
                            .value = std::move(value)});
  }
  return requirements;
}

}  // namespace athanor
