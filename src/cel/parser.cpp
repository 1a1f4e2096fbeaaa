// SPDX-License-Identifier: Apache-2.0
#include "cel/parser.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/utf8.hpp"
#include "cel/builder.hpp"
#include "cel/lexer.hpp"
#include "cel/macros.hpp"
#include "cel/names.hpp"

namespace athanor::cel {
namespace {

// Deeper nesting and longer chains of operators are refused: walks over the tree recurse.
constexpr int kDeepest = 250;
constexpr int kLongestChain = 1000;
constexpr std::size_t kLongestSource = 100'000;  // characters

constexpr std::string_view kExpectsPrimary =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}";

struct Operator {
  std::string_view token{};
  const char* function = nullptr;
};
constexpr std::array<Operator, 7> kRelations = {{{"<", "_<_"},
                                                 {"<=", "_<=_"},
                                                 {">=", "_>=_"},
                                                 {">", "_>_"},
                                                 {"==", op::kEquals},
                                                 {"!=", op::kNotEquals},
                                                 {"in", op::kIn}}};
constexpr std::array<Operator, 2> kSums = {{{"+", op::kAdd}, {"-", "_-_"}}};
constexpr std::array<Operator, 3> kProducts = {{{"*", "_*_"}, {"/", "_/_"}, {"%", "_%_"}}};

// Recursive descent. A null ExprPtr means that an issue was recorded; every caller returns then.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Parsed run() {
    ExprPtr root = expression();
    if (root != nullptr && current().kind != TokenKind::End) {
      const bool last = tokens_[at_ + 1].kind == TokenKind::End;
      fail(current(), fmt::format("Syntax error: {} input '{}' expecting <EOF>",
                                  last ? "extraneous" : "mismatched", current().text));
    }
    Parsed parsed;
    parsed.last_id = builder_.last_id();
    parsed.issues = std::move(issues_);
    if (parsed.issues.empty()) {
      parsed.root = std::move(root);
    }
    return parsed;
  }

 private:
  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] bool is(std::string_view punctuation) const {
    return current().kind == TokenKind::Punctuation && current().text == punctuation;
  }
  const Token& take() { return tokens_[at_++]; }
  bool accept(std::string_view punctuation) {
    if (!is(punctuation)) {
      return false;
    }
    ++at_;
    return true;
  }
  bool expect(std::string_view punctuation) {
    if (accept(punctuation)) {
      return true;
    }
    const bool end = current().kind == TokenKind::End;
    fail(current(), end ? fmt::format("Syntax error: missing '{}' at '<EOF>'", punctuation)
                        : fmt::format("Syntax error: mismatched input '{}' expecting '{}'",
                                      current().text, punctuation));
    return false;
  }
  void fail(const Token& token, std::string message) { fail(token.position, std::move(message)); }
  void fail(std::uint32_t position, std::string message) {
    issues_.push_back({.position = position, .message = std::move(message)});
  }

  ExprPtr at(std::uint32_t position, ExprKind kind, std::string name = {}) {
    builder_.set_position(position);
    return builder_.make(kind, std::move(name));
  }

  ExprPtr expression() {
    if (++depth_ > kDeepest) {
      fail(current(), fmt::format("expression recursion limit exceeded: {}", kDeepest));
      return nullptr;
    }
    ExprPtr result = conditional();
    --depth_;
    return result;
  }

  ExprPtr conditional() {
    ExprPtr condition = logical(op::kOr, "||");
    if (condition == nullptr || !is("?")) {
      return condition;
    }
    ExprPtr expr = at(take().position, ExprKind::Call, op::kConditional);
    ExprPtr yes = logical(op::kOr, "||");
    if (yes == nullptr || !expect(":")) {
      return nullptr;
    }
    ExprPtr no = expression();
    if (no == nullptr) {
      return nullptr;
    }
    expr->arguments.push_back(std::move(condition));
    expr->arguments.push_back(std::move(yes));
    expr->arguments.push_back(std::move(no));
    return expr;
  }

  // a || b || c as a balanced tree: long chains are common.
  ExprPtr logical(const char* function, std::string_view token) {
    std::vector<ExprPtr> terms;
    std::vector<ExprPtr> operators;
    while (true) {
      ExprPtr term = token == "||" ? logical(op::kAnd, "&&") : relation();
      if (term == nullptr) {
        return nullptr;
      }
      terms.push_back(std::move(term));
      if (!is(token)) {
        return balanced(terms, operators, 0, operators.size());
      }
      operators.push_back(at(take().position, ExprKind::Call, function));
    }
  }

  // The terms first..last and the operators between them.
  static ExprPtr balanced(std::vector<ExprPtr>& terms, std::vector<ExprPtr>& operators,
                          std::size_t first, std::size_t last) {
    if (first == last) {
      return std::move(terms[first]);
    }
    const std::size_t middle = (first + last) / 2;
    ExprPtr expr = std::move(operators[middle]);
    expr->arguments.push_back(balanced(terms, operators, first, middle));
    expr->arguments.push_back(balanced(terms, operators, middle + 1, last));
    return expr;
  }

  template <std::size_t N, class Below>
  ExprPtr binary(const std::array<Operator, N>& operators, Below below) {
    ExprPtr left = (this->*below)();
    for (int length = 0; left != nullptr; ++length) {
      const Operator* found = nullptr;
      for (const Operator& each : operators) {
        found = is(each.token) ? &each : found;
      }
      if (found == nullptr) {
        return left;
      }
      if (length >= kLongestChain) {
        fail(current(), fmt::format("expression recursion limit exceeded: {}", kLongestChain));
        return nullptr;
      }
      ExprPtr expr = at(take().position, ExprKind::Call, found->function);
      ExprPtr right = (this->*below)();
      if (right == nullptr) {
        return nullptr;
      }
      expr->arguments.push_back(std::move(left));
      expr->arguments.push_back(std::move(right));
      left = std::move(expr);
    }
    return left;
  }

  ExprPtr relation() { return binary(kRelations, &Parser::sum); }
  ExprPtr sum() { return binary(kSums, &Parser::product); }
  ExprPtr product() { return binary(kProducts, &Parser::unary); }

  ExprPtr unary() {
    if (!is("!") && !is("-")) {
      return member();
    }
    const Token& first = take();
    if (first.text == "-" && current().kind == TokenKind::Literal &&
        !current().literal.is(Val::Kind::Null)) {
      if (std::optional<Val> number = negative(current())) {
        ExprPtr expr = at(first.position, ExprKind::Literal);
        expr->literal = std::move(*number);
        ++at_;
        return suffixes(std::move(expr));
      }
    }
    std::size_t count = 1;
    while (is(first.text)) {
      ++at_;
      ++count;
    }
    ExprPtr operand = member();
    if (operand == nullptr || count % 2 == 0) {
      return operand;
    }
    ExprPtr expr = at(first.position, ExprKind::Call, first.text == "!" ? op::kNot : op::kNegate);
    expr->arguments.push_back(std::move(operand));
    return expr;
  }

  static bool is_minus(const Token& token) { return token.text == "-"; }

  static bool is_suffixed_uint(const Token& token) {
    return token.text.ends_with('u') || token.text.ends_with('U');
  }

  static std::optional<Val> negative(const Token& token) {
    if (token.literal.is(Val::Kind::Int)) {
      return Val::integer(-token.literal.as_int());
    }
    if (token.literal.is(Val::Kind::Double)) {
      return Val::real(-token.literal.as_double());
    }
    constexpr std::uint64_t kTwo63 = 1ULL << 63U;
    if (token.literal.is(Val::Kind::Uint) && !is_suffixed_uint(token) &&
        token.literal.as_uint() == kTwo63) {
      return Val::integer(std::numeric_limits<std::int64_t>::min());
    }
    return std::nullopt;
  }

  ExprPtr member() { return suffixes(primary()); }

  ExprPtr suffixes(ExprPtr expr) {
    for (int length = 0; expr != nullptr; ++length) {
      if (length >= kLongestChain) {
        fail(current(), fmt::format("expression recursion limit exceeded: {}", kLongestChain));
        return nullptr;
      }
      if (is(".")) {
        expr = dotted(std::move(expr), take().position);
      } else if (is("[")) {
        expr = indexed(std::move(expr), take().position);
      } else {
        return expr;
      }
    }
    return expr;
  }

  ExprPtr dotted(ExprPtr operand, std::uint32_t position) {
    const bool optional = accept("?");
    if (current().kind != TokenKind::EscapedIdentifier && current().kind != TokenKind::Identifier) {
      fail(current(), fmt::format("Syntax error: no viable alternative at input '.{}'",
                                  current().kind == TokenKind::End ? "" : current().text));
      return nullptr;
    }
    const Token& name = take();
    if (name.kind == TokenKind::Identifier && !optional && is("(")) {
      const std::uint32_t open = take().position;
      return call(open, name.text, std::move(operand));
    }
    if (!optional) {
      ExprPtr expr = at(position, ExprKind::Select, name.text);
      expr->target = std::move(operand);
      return expr;
    }
    ExprPtr expr = at(position, ExprKind::Call, op::kOptionalSelect);
    expr->arguments.push_back(std::move(operand));
    ExprPtr field = at(name.position, ExprKind::Literal);
    field->literal = Val::string(name.text);
    expr->arguments.push_back(std::move(field));
    return expr;
  }

  ExprPtr indexed(ExprPtr operand, std::uint32_t position) {
    const bool optional = accept("?");
    ExprPtr expr = at(position, ExprKind::Call, optional ? op::kOptionalIndex : op::kIndex);
    ExprPtr index = expression();
    if (index == nullptr || !expect("]")) {
      return nullptr;
    }
    expr->arguments.push_back(std::move(operand));
    expr->arguments.push_back(std::move(index));
    return expr;
  }

  // After the '(' of a call.
  ExprPtr call(std::uint32_t position, const std::string& name, ExprPtr target) {
    std::vector<ExprPtr> arguments;
    while (!is(")")) {
      ExprPtr argument = expression();
      if (argument == nullptr) {
        return nullptr;
      }
      arguments.push_back(std::move(argument));
      if (!accept(",")) {
        break;
      }
    }
    if (!expect(")")) {
      return nullptr;
    }
    builder_.set_position(position);
    if (auto expansion = expand_macro(builder_, name, target, arguments)) {
      if (expansion->expr == nullptr) {
        fail(expansion->position, expansion->error);
      }
      return std::move(expansion->expr);
    }
    ExprPtr expr = builder_.make(ExprKind::Call, name);
    expr->target = std::move(target);
    expr->arguments = std::move(arguments);
    return expr;
  }

  ExprPtr primary() {
    const Token& token = current();
    if (token.kind == TokenKind::Literal) {
      ++at_;
      if (token.literal.is(Val::Kind::Uint) && !is_suffixed_uint(token)) {
        fail(token, "invalid int literal");
        return nullptr;
      }
      ExprPtr expr = at(token.position, ExprKind::Literal);
      expr->literal = token.literal;
      return expr;
    }
    if (accept("(")) {
      ExprPtr inner = expression();
      return inner != nullptr && expect(")") ? std::move(inner) : nullptr;
    }
    if (is("[")) {
      return list_literal(take().position);
    }
    if (is("{")) {
      return map_literal(take().position);
    }
    const bool rooted = is(".");
    if (rooted) {
      ++at_;
    }
    if (current().kind != TokenKind::Identifier) {
      if (current().kind == TokenKind::End && at_ > 0 && is_minus(tokens_[at_ - 1])) {
        // A number or an operand could have followed.
        fail(current(), "Syntax error: no viable alternative at input '-'");
      }
      fail(current(), fmt::format("Syntax error: mismatched input '{}' expecting {}",
                                  current().text, rooted ? "IDENTIFIER" : kExpectsPrimary));
      return nullptr;
    }
    const Token& name = take();
    if (is_reserved_word(name.text)) {
      fail(name, fmt::format("reserved identifier: {}", name.text));
      return nullptr;
    }
    if (is("(")) {
      const std::uint32_t open = take().position;
      return call(open, name.text, nullptr);
    }
    if (is("{")) {
      return struct_literal(name);
    }
    return at(name.position, ExprKind::Ident, name.text);
  }

  ExprPtr list_literal(std::uint32_t position) {
    ExprPtr expr = at(position, ExprKind::List);
    while (!is("]")) {
      expr->optional_items.push_back(accept("?"));
      ExprPtr item = expression();
      if (item == nullptr) {
        return nullptr;
      }
      expr->arguments.push_back(std::move(item));
      if (!accept(",")) {
        break;
      }
    }
    return expect("]") ? std::move(expr) : nullptr;
  }

  ExprPtr map_literal(std::uint32_t position) {
    ExprPtr expr = at(position, ExprKind::Map);
    while (!is("}")) {
      MapEntry entry;
      entry.optional = accept("?");
      entry.key = expression();
      if (entry.key == nullptr || !expect(":")) {
        return nullptr;
      }
      entry.value = expression();
      if (entry.value == nullptr) {
        return nullptr;
      }
      expr->entries.push_back(std::move(entry));
      if (!accept(",")) {
        break;
      }
    }
    return expect("}") ? std::move(expr) : nullptr;
  }

  // There are no message types to make: the checker refuses the name.
  ExprPtr struct_literal(const Token& name) {
    ExprPtr expr = at(take().position, ExprKind::Struct, name.text);
    while (!is("}")) {
      if (current().kind != TokenKind::Identifier) {
        fail(current(), fmt::format("Syntax error: mismatched input '{}' expecting IDENTIFIER",
                                    current().text));
        return nullptr;
      }
      ++at_;
      if (!expect(":")) {
        return nullptr;
      }
      ExprPtr value = expression();
      if (value == nullptr) {
        return nullptr;
      }
      expr->arguments.push_back(std::move(value));
      if (!accept(",")) {
        break;
      }
    }
    return expect("}") ? std::move(expr) : nullptr;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Builder builder_{};
  std::vector<Issue> issues_{};
};

}  // namespace

Parsed parse(std::string_view source) {
  Parsed parsed;
  if (const std::size_t size = utf8::length(source); size > kLongestSource) {
    parsed.issues.push_back(
        {.position = 0,
         .message = fmt::format("expression code point size exceeds limit: size: {}, limit {}",
                                size, kLongestSource)});
    return parsed;
  }
  Tokens tokens = tokenize(source);
  parsed = Parser(std::move(tokens.tokens)).run();
  if (!tokens.issues.empty()) {
    parsed.issues.insert(parsed.issues.begin(), tokens.issues.begin(), tokens.issues.end());
    parsed.root = nullptr;
  }
  return parsed;
}

}  // namespace athanor::cel
