// SPDX-License-Identifier: Apache-2.0
// Validating webhooks: all at the same time, after every change.
#include "embedded/apiserver/matching/conditions.hpp"
#include "embedded/apiserver/matching/match.hpp"
#include "embedded/apiserver/matching/review.hpp"
#include "embedded/apiserver/request/conversation.hpp"
#include "embedded/apiserver/webhooks/webhook_steps.hpp"

namespace athanor::apiserver {
namespace {

struct Asked {
  const Hook* hook = nullptr;
  HookReply reply{};
};

// All webhooks are asked before the first answer is looked at.
StatusResult<std::vector<Asked>> ask_all(const Hooks& hooks, const AdmissionAttributes& request,
                                         const AdmissionContext& context) {
  std::vector<Asked> asked;
  bool pending = false;
  for (const Hook& hook : hooks) {
    ATHANOR_TRY(const ResourceInfo* version, match_hook(hook, request, context));
    if (version == nullptr) {
      continue;
    }
    ATHANOR_TRY(const HookCall call, prepare_call(hook, request, *version, context));
    ATHANOR_TRY(const bool wanted, conditions_hold(call, context));
    if (!wanted) {
      continue;
    }
    ATHANOR_TRY_VOID(check_dry_run(call));
    asked.push_back({.hook = &hook, .reply = ask_hook(call, context)});
    pending = pending || !asked.back().reply.there;
  }
  if (pending) {
    return status::pending();
  }
  return asked;
}

StatusResult<void> validate(const Hooks& hooks, AdmissionAttributes& request,
                            const AdmissionContext& context) {
  ATHANOR_TRY(const std::vector<Asked> asked, ask_all(hooks, request, context));
  StatusResult<void> outcome;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto heard = judge(*asked[i].hook, asked[i].reply, i, request, context);
    if (!heard.ok() && outcome.ok()) {
      outcome = heard.error();
    }
  }
  return outcome;
}

}  // namespace

AdmissionStep validating_webhook_step() {
  const auto cache = std::make_shared<HookCache>(false);
  return {.name = "ValidatingAdmissionWebhook",
          .mutate = {},
          .validate = [cache](AdmissionAttributes& request,
                              const AdmissionContext& context) -> StatusResult<void> {
            const std::shared_ptr<const Hooks> hooks = cache->hooks(context.store);
            if (hooks->empty() || exempt_from_webhooks(request)) {
              return {};
            }
            return validate(*hooks, request, context);
          }};
}

}  // namespace athanor::apiserver
