// SPDX-License-Identifier: Apache-2.0
// ConfigMaps and Secrets (docs/spec/apiserver.md 14.2, 14.4).
#pragma once

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// A key of a ConfigMap or Secret.
NameError validate_config_key(std::string_view key);

FieldErrors validate_config_map(const Value& object, const KindContext& context);
FieldErrors validate_config_map_update(const Value& object, const Value& old_object,
                                       const KindContext& context);
Cells config_map_cells(const Value& object, Instant now);

void default_secret(Value& object, const KindContext& context);
FieldErrors validate_secret(const Value& object, const KindContext& context);
// Keys and certificates that are none.
void warn_of_secret(const Value& object, const Value& old_object, const KindContext& context);
FieldErrors validate_secret_update(const Value& object, const Value& old_object,
                                   const KindContext& context);
Cells secret_cells(const Value& object, Instant now);

}  // namespace athanor::apiserver
