// SPDX-License-Identifier: Apache-2.0
#include "cel/literals.hpp"

#include "cel/values/text_format.hpp"
#include "cel/values/time_text.hpp"
#include "kube/text/regex.hpp"

namespace athanor::cel {
namespace {

class LiteralChecker {
 public:
  void check(const Expr& expr) {
    if (expr.kind == ExprKind::Call && !expr.arguments.empty()) {
      call(expr);
    }
    for_each_child(expr, [this](const Expr& child) { check(child); });
  }

  Literals take() { return std::move(result_); }

 private:
  void fail(const Expr& at, const char* message) {
    result_.issues.push_back({.position = at.position, .message = message});
  }

  void call(const Expr& expr) {
    const Expr& last = *expr.arguments.back();
    if (expr.name == "format" && expr.target != nullptr && expr.target->kind == ExprKind::Literal &&
        last.kind == ExprKind::List) {
      format(std::string(expr.target->literal.text()), last);
    }
    if (last.kind != ExprKind::Literal || !last.literal.is(Val::Kind::String)) {
      return;
    }
    const std::string_view text = last.literal.text();
    if (expr.target == nullptr && expr.name == "timestamp" && !parse_timestamp(text)) {
      fail(last, "invalid timestamp argument");
    } else if (expr.target == nullptr && expr.name == "duration" && !parse_duration(text)) {
      fail(last, "invalid duration argument");
    } else if (regex_bytes_ <= kMostRegexBytes &&
               (expr.name == "matches" || expr.name == "find" || expr.name == "findAll")) {
      if (result_.regexes.contains(text)) {
        return;
      }
      auto compiled = Regex::compile(text);
      regex_bytes_ += compiled.ok()                  ? (*compiled)->size_bytes()
                      : compiled.error().code == 413 ? kRefusedRegexBytes
                                                     : 0;
      if (compiled.ok()) {
        result_.regexes.emplace(text, *std::move(compiled));
        if (regex_bytes_ > kMostRegexBytes) {
          fail(last, "the regular expressions take too much memory");
        }
      } else {
        fail(last, expr.name == "matches" ? "invalid matches argument"
                   : expr.name == "find"  ? "invalid find argument"
                                          : "invalid findAll argument");
      }
    }
  }

  // Each literal argument in its place, the others as if they were right.
  void format(std::string_view text, const Expr& list) {
    std::size_t index = 0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] != '%') {
        continue;
      }
      const std::size_t start = i++;
      while (i < text.size() && std::string_view(".0123456789").find(text[i]) != text.npos) {
        ++i;
      }
      if (i >= text.size() || text[i] == '%' || index >= list.arguments.size()) {
        continue;
      }
      const Expr& argument = *list.arguments[index++];
      if (argument.kind == ExprKind::Literal) {
        const Val one = Val::list({argument.literal});
        Meter unlimited;
        const Val made = format_text(text.substr(start, i + 1 - start), *one.as_list(), unlimited);
        if (made.is_error()) {
          result_.issues.push_back(
              {.position = argument.position, .message = std::string(made.text())});
        }
      }
    }
  }

  Literals result_{};
  std::size_t regex_bytes_ = 0;
};

}  // namespace

Literals check_literals(const Expr& root) {
  LiteralChecker checker;
  checker.check(root);
  return checker.take();
}

}  // namespace athanor::cel
