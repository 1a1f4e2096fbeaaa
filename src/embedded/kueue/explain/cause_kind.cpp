// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/cause_kind.hpp"

namespace athanor::kueue {

std::string_view cause_word(CauseKind kind) {
  switch (kind) {
    case CauseKind::Finished:
      return "Finished";
    case CauseKind::Inactive:
      return "Inactive";
    case CauseKind::Evicted:
      return "Evicted";
    case CauseKind::HeldBack:
      return "HeldBack";
    case CauseKind::RequeueBackoff:
      return "RequeueBackoff";
    case CauseKind::AdmissionCheck:
      return "AdmissionCheck";
    case CauseKind::QueueMissing:
      return "QueueMissing";
    case CauseKind::QueueInactive:
      return "QueueInactive";
    case CauseKind::NamespaceNotMatched:
      return "NamespaceNotMatched";
    case CauseKind::OthersFirst:
      return "OthersFirst";
    case CauseKind::PodsNotReady:
      return "PodsNotReady";
    case CauseKind::RequestRefused:
      return "RequestRefused";
    case CauseKind::QuotaTooSmall:
      return "QuotaTooSmall";
    case CauseKind::QuotaInUse:
      return "QuotaInUse";
    case CauseKind::FlavorExcluded:
      return "FlavorExcluded";
    case CauseKind::Preempting:
      return "Preempting";
  }
  return "RequestRefused";
}

}  // namespace athanor::kueue
