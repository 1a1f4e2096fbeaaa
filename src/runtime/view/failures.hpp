// SPDX-License-Identifier: Apache-2.0
// Lasting failures, as observations: a controller that has to answer a refused write or an
// unreadable kind in its object's status reads it here. The engine is the one that reports:
//   - a step refused with 400, 401, 403, 404, 405, 413 or 422 becomes the error of the observations
//     refusals_query(step) and refusal_query(step) (a missing target of a Delete is success, a
//     conflict or overload is retried, none is reported), and the key runs again at once instead of
//     after a backoff;
//   - a kind that the API server does not let us list, everywhere or in one namespace, becomes the
//     error of unreadable_query(kind, namespace); operators run nevertheless, and see no objects of
//     it there.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "kube/value/kind.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Returns true for an answer that trying again would not change; false for the 403 of an API server
// whose check of owners does not know the owner's kind yet.
bool is_refusal(const Error& error);

// Returns "refused:create Pod ns/name": asks if any step that does the same to the same object was
// refused. Read without a digest, which would cost more than all other reads for a step.
std::string refusals_query(const Step& step);
// Returns "refused:" and a digest of the step: another uid or field is another question.
std::string refusal_query(const Step& step);
// Returns the answer to exactly this step, if it was tried and refused.
std::optional<Error> refused(const View& view, const Step& step);

// "contested:ClusterQueue /fournos-queue": the object was written by others at the same time, again
// and again (kContested conflicts in a row); the engine goes on trying.
inline constexpr int kContested = 10;
std::string contested_query(const Ref& target);
bool contested(const View& view, const Ref& target);

// Returns "unreadable:clusterqueues.kueue.x-k8s.io" where the kind is listed as a whole,
// "unreadable:secrets/ns" where it is listed by namespaces.
std::string unreadable_query(const Kind& kind, std::string_view ns = {});
// Returns why objects of this kind in `ns` cannot be listed, however they are; without a namespace:
// why the kind as a whole cannot be.
std::optional<Error> unreadable(const View& view, const Kind& kind, std::string_view ns = {});

}  // namespace athanor
