// SPDX-License-Identifier: Apache-2.0
// The systems' webhooks as steps of the embedded server's admission: the functions that the webhook
// server of the production world serves, called without HTTP.
#pragma once

#include <functional>
#include <vector>

#include "embedded/apiserver/request/admission.hpp"
#include "embedded/bridge/store_snapshot.hpp"
#include "embedded/kinds/converter.hpp"
#include "runtime/view/system.hpp"

namespace athanor::bridge {

struct InProcessWebhooks {
  Systems systems{};
  SystemConfig config{};
  // Called with each answer, on any thread; may be empty.
  std::function<void(const Webhook& webhook, const Verdict& verdict)> answered{};
};

// Returns one step for each system with webhooks, named for it ("KueueWebhooks"). A webhook sees
// the object in the version of its rule, observes rights ("subject-access:SPEC") by the server's
// authorizer and, as behind a configuration, denies with `admission webhook "NAME" denied the
// request: MESSAGE`.
std::vector<apiserver::AdmissionStep> webhook_steps(const InProcessWebhooks& options);

// Finds the converter between the served versions of a system's kind (group, kind); the answer is
// nullptr where apiVersion alone changes. Converters live as long as the function or its copies.
std::function<const apiserver::Converter*(std::string_view group, std::string_view kind)>
system_converters(Systems systems);

// Reads objects that are stored in an older version of a system's kind.
StoredForms stored_forms(Systems systems);

}  // namespace athanor::bridge
