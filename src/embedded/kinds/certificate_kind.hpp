// SPDX-License-Identifier: Apache-2.0
// CertificateSigningRequests: who asked, and who may change what (docs/spec/apiserver.md 12.4).
#pragma once

#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Signs the request with the name of its creator.
void prepare_certificate_request(Value& object, const KindContext& context);
// Keeps the spec, which never changes; approvals change conditions alone.
void prepare_certificate_update(Value& object, const Value& old_object, const KindContext& context);

}  // namespace athanor::apiserver
