// SPDX-License-Identifier: Apache-2.0
// What Tekton's webhooks do at write time: defaulting (docs/spec/tekton.md 4) and validation (5).
// Pure functions on objects; the API server calls them for kinds of group tekton.dev.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Some defaults are set at create alone.
enum class WriteKind : std::uint8_t { Create, Update };

// Fills in what the object leaves open. Objects of other kinds stay as they are.
void apply_defaults(Value& object, WriteKind write = WriteKind::Create,
                    const Settings& settings = {});

// Returns the denial (400 BadRequest, `admission webhook "validation.webhook.pipeline.tekton.dev"
// denied the request: validation failed: …`), or nullopt. `old_object` is nullptr at creation.
std::optional<Error> validate(const Value& object, const Value* old_object,
                              const Settings& settings = {});

}  // namespace athanor::tekton
