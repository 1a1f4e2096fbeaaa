// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/pipelinerun/matrix.hpp"

#include <algorithm>
#include <utility>

#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

Value param(const Value& name, const Value& value) {
  return Value::object({{"name", name}, {"value", value}});
}

// How an include relates to a combination of the matrix params.
enum class Match : unsigned char { Same, Other, Unrelated };

Match match(const Value& combination, const Value& include) {
  Match result = Match::Unrelated;
  for (const Value& one : include["params"].items()) {
    const Value& known = named(combination, one["name"].as_string());
    if (known.is_null()) {
      continue;
    }
    if (known["value"] != one["value"]) {
      return Match::Other;
    }
    result = Match::Same;
  }
  return result;
}

void substitute_values(Value& holder, const Replacements& replacements) {
  if (!holder["params"].is_list()) {
    return;
  }
  Value& params = holder.member("params");
  for (std::size_t i = 0; i < params.size(); ++i) {
    params.item(i).set("value", substitute_param(params[i]["value"], replacements));
  }
}

}  // namespace

Value substituted_matrix(Value matrix, const Replacements& replacements) {
  substitute_values(matrix, replacements);
  for (std::size_t i = 0; i < matrix["include"].size(); ++i) {
    substitute_values(matrix.member("include").item(i), replacements);
  }
  return matrix;
}

std::size_t crossed_combinations(const Value& matrix, std::size_t most) {
  std::size_t product = 1;
  for (const Value& varied : matrix["params"].items()) {
    const std::size_t length = varied["value"].is_list() ? varied["value"].size() : std::size_t{1};
    if (length > 0 && product > most / length) {
      product = most + 1;
    } else if (product <= most) {
      product *= std::max<std::size_t>(1, length);
    }
  }
  return product;
}

bool exceeds_combinations(const Value& matrix, std::size_t most) {
  return crossed_combinations(matrix, most) > most || matrix["include"].size() > most;
}

std::vector<Value> matrix_combinations(const Value& matrix) {
  std::vector<Value> combinations;
  for (const Value& varied : matrix["params"].items()) {
    std::vector<Value> expanded;
    for (const Value& value : varied["value"].items()) {
      if (combinations.empty()) {
        expanded.push_back(Value::list({param(varied["name"], value)}));
      }
      for (Value combination : combinations) {
        combination.push_back(param(varied["name"], value));
        expanded.push_back(std::move(combination));
      }
    }
    combinations = std::move(expanded);
  }
  // An include extends the combinations it agrees with; one that agrees with none is a combination
  // of its own.
  const std::vector<Value> crossed = combinations;
  for (const Value& include : matrix["include"].items()) {
    bool used = false;
    for (std::size_t i = 0; i < crossed.size(); ++i) {
      if (match(crossed[i], include) != Match::Other) {
        combinations[i] = merged_named(combinations[i], include["params"]);
        used = true;
      }
    }
    if (!used) {
      combinations.push_back(include["params"].is_list() ? include["params"] : Value::list());
    }
  }
  return combinations;
}

std::string combination_name(const Value& matrix, const Value& params) {
  std::string name;
  for (const Value& include : matrix["include"].items()) {
    const auto wanted = include["params"].items();
    const bool agrees = std::all_of(wanted.begin(), wanted.end(), [&](const Value& one) {
      return named(params, one["name"].as_string())["value"] == one["value"];
    });
    if (agrees && !include["name"].as_string().empty()) {
      name = include["name"].str();
    }
  }
  return name;
}

}  // namespace athanor::tekton
