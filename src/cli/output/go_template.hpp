// SPDX-License-Identifier: Apache-2.0
// GoTemplate: the part of Go's text/template that -o go-template needs: fields, variables, range,
// if, with, and functions. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// A parsed template. Immutable; copies share their nodes.
//
// Actions: {{.a.b}}, {{$x := pipeline}}, {{range}} with {{else}} and variables, {{if}} with
// {{else if}}, {{with}}, {{/* comments */}}, trimming {{- -}}. Functions: and, or, not, eq, ne, lt,
// le, gt, ge, index, len, print, println, printf (%s %v %d %q %%), base64decode, exists.
class GoTemplate {
 public:
  // Parses a template. Errors (wrong usage) name the action that is wrong.
  static Result<GoTemplate> parse(std::string_view text);
  // Renders `data`. Errors (wrong usage): a function that does not take its arguments.
  [[nodiscard]] Result<std::string> render(const Value& data) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_{};
};

}  // namespace athanor::cli
