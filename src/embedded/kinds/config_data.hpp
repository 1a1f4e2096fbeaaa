// SPDX-License-Identifier: Apache-2.0
// ConfigMaps and Secrets (docs/spec/apiserver.md 14.2, 14.4).
#pragma once

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Checks a key of a ConfigMap or Secret.
NameError validate_config_key(std::string_view key);

// Returns the errors of a ConfigMap at create and at update (with `immutable` its data stay);
// empty: valid.
FieldErrors validate_config_map(const Value& object, const KindContext& context);
FieldErrors validate_config_map_update(const Value& object, const Value& old_object,
                                       const KindContext& context);
// Returns the row of a ConfigMap.
Cells config_map_cells(const Value& object, Instant now);

// Sets type Opaque, and moves stringData to data in base64.
void default_secret(Value& object, const KindContext& context);
// Returns the errors of a Secret: its keys, its size, the keys that its type requires.
FieldErrors validate_secret(const Value& object, const KindContext& context);
// Keys and certificates that are none.
void warn_of_secret(const Value& object, const Value& old_object, const KindContext& context);
// Returns the errors of an update: its type stays, of one with `immutable` also its data.
FieldErrors validate_secret_update(const Value& object, const Value& old_object,
                                   const KindContext& context);
// Returns the row of a Secret.
Cells secret_cells(const Value& object, Instant now);

}  // namespace athanor::apiserver
