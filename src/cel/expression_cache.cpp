// SPDX-License-Identifier: Apache-2.0
#include "cel/expression_cache.hpp"

#include <utility>

namespace athanor::cel {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr std::size_t kResultBytes = 512;
constexpr std::uint64_t kCheap = 1000;  // not worth remembering

}  // namespace

ExpressionCache::Known& ExpressionCache::known(const std::string& expression) {
  const auto found = expressions_.find(expression);
  if (found != expressions_.end()) {
    return found->second;
  }
  if (bytes_ > kMostBytes) {
    expressions_.clear();
    bytes_ = 0;
  }
  bytes_ += expression.size() + kResultBytes;
  return expressions_
      .emplace(expression, Known{.program = Program::compile(
                                     expression, {{variable_, simple_type(TypeKind::Dyn)}})})
      .first->second;
}

Result<Evaluation> ExpressionCache::evaluate(const std::string& expression, const Val& subject) {
  const std::lock_guard lock(mutex_);
  Known& one = known(expression);
  if (!one.program.ok()) {
    return one.program.error();
  }
  if (const auto result = one.results.find(&subject); result != one.results.end()) {
    return result->second;
  }
  Evaluation done = (*one.program)->evaluate({{variable_, subject}}, limits_);
  if (done.cost > kCheap) {
    one.results.emplace(&subject, done);
    bytes_ += kResultBytes + own_bytes(done.value);
  }
  return done;
}

}  // namespace athanor::cel
