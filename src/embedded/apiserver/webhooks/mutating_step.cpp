// SPDX-License-Identifier: Apache-2.0
// Mutating webhooks: one after another, and once more where a later one changed the object.
#include <fmt/format.h>

#include "base/digest.hpp"
#include "embedded/apiserver/audit/request_audit.hpp"
#include "embedded/apiserver/matching/conditions.hpp"
#include "embedded/apiserver/matching/match.hpp"
#include "embedded/apiserver/matching/review.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/webhooks/webhook_steps.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

// Everything that ran is to see the changed object.
void call_again(Reinvocation& reinvocation) {
  reinvocation.again.merge(reinvocation.ran);
  reinvocation.ran.clear();
}

// The object with the webhook's patch, in the request's version; Null when nothing was patched.
StatusResult<Value> patched(const HookCall& call, const HookReply& reply,
                            const AdmissionContext& context) {
  const std::string_view encoded = reply.response["patch"].as_string();
  if (encoded.empty()) {
    return Value();
  }
  const auto text = base64_decode(encoded);
  if (!text) {
    return status::internal("illegal base64 data in the patch");
  }
  const auto patch = json::parse(*text);
  if (!patch.ok()) {
    return status::internal(patch.error().message);
  }
  if (patch->empty()) {
    return Value();
  }
  if (call.object.is_null()) {
    return status::internal(fmt::format(
        "admission webhook {} attempted to modify the object, which is not supported for this "
        "operation",
        go_quote(call.hook.name)));
  }
  auto changed = apply_json_patch(call.object, *patch);
  if (!changed.ok()) {
    return status::internal(changed.error().message);
  }
  ATHANOR_TRY(Value object, in_version(call.version, *call.request.resource, *changed, context));
  // Of a kind of its own (a Scale) there is nothing more to know here.
  if (object["kind"].as_string() == call.request.resource->kind) {
    auto normal = normalize(*call.request.resource, object);
    if (!normal.ok()) {
      return status::internal(normal.error().message);
    }
    object = *std::move(normal);
    add_defaults(*context.call, object, call.request.dry_run);
  }
  return object;
}

// What the audit says of a mutating webhook, and at higher levels of its patch.
void annotate(const HookCall& call, std::size_t index, bool mutated, const HookReply& reply,
              const AdmissionContext& context) {
  if (context.call->audit == nullptr) {
    return;
  }
  Value said =
      Value::object({{"configuration", call.hook.configuration}, {"webhook", call.hook.name}});
  Value mutation = said;
  mutation.set("mutated", mutated);
  annotate_round("mutation", call.hook, index, call.request, context, json::print(mutation));
  if (mutated && context.call->audit->level() >= AuditLevel::Request) {
    const auto text = base64_decode(reply.response["patch"].as_string());
    const auto patch = json::parse(text.value_or(std::string()));
    said.set("patch", patch.ok() ? *patch : Value());
    said.set("patchType", "JSONPatch");
    annotate_round("patch", call.hook, index, call.request, context, json::print(said));
  }
}

// Whether the webhook changed the object.
StatusResult<bool> call_one(const HookCall& call, std::size_t index, AdmissionAttributes& request,
                            const AdmissionContext& context) {
  ATHANOR_TRY_VOID(check_dry_run(call));
  const HookReply reply = ask_hook(call, context);
  if (!reply.there) {
    return status::pending();
  }
  auto heard = judge(call.hook, reply, index, request, context);
  if (!heard.ok() || !*heard) {
    annotate(call, index, false, reply, context);
    return heard;
  }
  ATHANOR_TRY(Value object, patched(call, reply, context));
  const bool mutated = !object.is_null() && object != request.object;
  annotate(call, index, mutated, reply, context);
  if (!mutated) {
    return false;
  }
  request.object = std::move(object);
  return true;
}

StatusResult<void> mutate(const Hooks& hooks, AdmissionAttributes& request,
                          const AdmissionContext& context) {
  Reinvocation& reinvocation = request.reinvocation;
  if (reinvocation.second_round && reinvocation.last_output != request.object) {
    call_again(reinvocation);  // a built-in step changed the object since
  }
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const Hook& hook = hooks[i];
    ATHANOR_TRY(const ResourceInfo* version, match_hook(hook, request, context));
    if (version == nullptr) {
      continue;
    }
    ATHANOR_TRY(const HookCall call, prepare_call(hook, request, *version, context));
    ATHANOR_TRY(const bool wanted, conditions_hold(call, context));
    if (!wanted || (reinvocation.second_round && !reinvocation.again.contains(hook.id))) {
      continue;  // the second round calls no webhook for the first time
    }
    ATHANOR_TRY(const bool changed, call_one(call, i, request, context));
    if (changed) {
      call_again(reinvocation);
      reinvocation.wanted = true;
    }
    if (hook.reinvocable) {
      reinvocation.ran.insert(hook.id);
    }
  }
  reinvocation.last_output = request.object;
  return {};
}

}  // namespace

AdmissionStep mutating_webhook_step() {
  const auto cache = std::make_shared<HookCache>(true);
  return {.name = "MutatingAdmissionWebhook",
          .mutate = [cache](AdmissionAttributes& request,
                            const AdmissionContext& context) -> StatusResult<void> {
            const std::shared_ptr<const Hooks> hooks = cache->hooks(context.store);
            if (hooks->empty() || exempt_from_webhooks(request)) {
              return {};
            }
            return mutate(*hooks, request, context);
          },
          .validate = {}};
}

}  // namespace athanor::apiserver
