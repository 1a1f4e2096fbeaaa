// SPDX-License-Identifier: Apache-2.0
#include "agent/node/node_wishes.hpp"

#include <fmt/core.h>

#include <utility>
#include <variant>

#include "api/builtin.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/ownership.hpp"

namespace athanor::agent {

std::string NodeWishes::text() const {
  const MutexLock lock(mutex_);
  return text_;
}

void NodeWishes::take(const Object& node) {
  if (node.name() != node_) {
    return;
  }
  std::string text;
  for (const char* name : {das::kSharingAnnotation, das::kAllocationApiAnnotation,
                           das::kModelAnnotation, das::kCountAnnotation}) {
    text += fmt::format("{}\n", node.annotation(name));
  }
  const MutexLock lock(mutex_);
  text_ = std::move(text);
}

void NodeWishes::input(const runtime::Engine& /*engine*/, const runtime::Input& input,
                       Instant /*now*/) {
  if (const auto* event = std::get_if<runtime::WatchEvent>(&input);
      event != nullptr && event->kind == &api::kNode &&
      event->type == runtime::WatchEvent::Type::Changed) {
    take(event->object);
  } else if (const auto* list = std::get_if<runtime::Relisted>(&input);
             list != nullptr && list->kind == &api::kNode) {
    for (const Object& node : list->objects) {
      take(node);
    }
  }
}

}  // namespace athanor::agent
