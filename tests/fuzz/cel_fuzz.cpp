// SPDX-License-Identifier: Apache-2.0
// Expressions over a dynamic `self`: what compiles is evaluated, twice to the same value, within
// its cost limit.
#include "cel/program.hpp"
#include "fuzz/fuzz.hpp"
#include "kube/text/json.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  static const Value self = json::parse(R"({"a":1,"b":[1,2.5,"x",null,true],"c":{"d":"1Gi","e":
      {"f":"10.0.0.0/8"}},"s":"text","t":"2024-01-01T00:00:00Z"})")
                                .value();
  const auto program = cel::Program::compile(fuzz::text_of(data, size),
                                             {{"self", cel::simple_type(cel::TypeKind::Dyn)}});
  if (program.ok()) {
    constexpr std::uint64_t kCost = 20'000;
    const cel::Bindings bindings{{"self", cel::adapt(self)}};
    const cel::Evaluation once = (*program)->evaluate(bindings, {.cost = kCost});
    const cel::Evaluation again = (*program)->evaluate(bindings, {.cost = kCost});
    ATHANOR_CHECK(once.value.is_error() == again.value.is_error() && once.cost == again.cost,
                  "evaluation is a function");
  }
  return 0;
}
