// SPDX-License-Identifier: Apache-2.0
// The tables of docs/spec/kueue.md 6.2 and 6.3.
#include "embedded/kueue/model/reasons.hpp"

namespace athanor::kueue {
namespace {

std::string_view legacy(Waits why) {
  switch (why) {
    case Waits::NoQueue:
    case Waits::QueueStopped:
      return "Inadmissible";
    case Waits::PodsReady:
      return "Waiting";
    case Waits::Gated:
      return "AdmissionGated";
    default:
      return "Pending";
  }
}

std::string_view granular_reason(Waits why) {
  switch (why) {
    case Waits::Evaluation:
      return "PendingEvaluation";
    case Waits::Quota:
      return "WaitingForQuota";
    case Waits::TooLarge:
      return "ExceedsMaxQuota";
    case Waits::NoFlavor:
      return "NoMatchingFlavor";
    case Waits::Preemption:
      return "WaitingForPreemptedWorkloads";
    case Waits::Namespace:
    case Waits::Request:
    case Waits::NoQueue:
      return "Misconfigured";
    case Waits::QueueStopped:
      return "Suspended";
    case Waits::PodsReady:
      return "WaitingForPodsReady";
    case Waits::Gated:
      return "AdmissionGated";
  }
  return {};
}

}  // namespace

std::string_view reason_of(Waits why, bool granular) {
  return granular ? granular_reason(why) : legacy(why);
}

std::string_view unsatisfied_checks(bool granular) {
  return granular ? "UnsatisfiedAdmissionChecks" : "UnsatisfiedChecks";
}

}  // namespace athanor::kueue
