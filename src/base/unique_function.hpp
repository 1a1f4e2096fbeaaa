// SPDX-License-Identifier: Apache-2.0
// A move-only callable: what std::function would be without the copy.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace athanor {

template <class Signature>
class UniqueFunction;

template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, F&, Args...>)
  // Wraps a callable. NOLINTNEXTLINE(google-explicit-constructor): a callable is one
  UniqueFunction(F function) : callable_(std::make_unique<Holder<F>>(std::move(function))) {}

  R operator()(Args... args) { return callable_->call(std::forward<Args>(args)...); }
  explicit operator bool() const { return callable_ != nullptr; }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual R call(Args... args) = 0;
  };
  template <class F>
  struct Holder final : Callable {
    explicit Holder(F f) : function(std::move(f)) {}
    R call(Args... args) override { return function(std::forward<Args>(args)...); }
    F function;
  };
  std::unique_ptr<Callable> callable_{};
};

}  // namespace athanor
