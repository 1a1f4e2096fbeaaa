// SPDX-License-Identifier: Apache-2.0
// Input: a JSON list [document, patch]. The patch is taken as each of the three kinds.
#include "fuzz/fuzz.hpp"
#include "kube/apply/patch.hpp"
#include "kube/apply/strategic_patch.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  const auto input = json::parse(fuzz::text_of(data, size));
  if (!input.ok() || input->size() != 2 || !input->is_list()) {
    return 0;
  }
  const Value& document = (*input)[0];
  const Value& patch = (*input)[1];
  const std::string before = json::print(document);
  if (const auto patched = apply_json_patch(document, patch); patched.ok()) {
    json::print(*patched);
  }
  const Value merged = apply_merge_patch(document, patch);
  const Value again = apply_merge_patch(merged, patch);
  // Nulls within lists of the patch may survive the first time, as in the reference's library.
  ATHANOR_CHECK(apply_merge_patch(again, patch) == again, "a merge patch is idempotent");
  if (document.is_object() && merged.is_object()) {
    const Value difference = make_merge_patch(document, merged);
    const Value redone = difference.is_null() ? document : apply_merge_patch(document, difference);
    ATHANOR_CHECK(redone == merged || json::print(merged).find("null") != std::string::npos,
                  "the difference leads from one to the other");
  }
  static const SchemaPtr pod = BuiltinTypes::get().by_name("core.v1.Pod");
  if (const auto patched = apply_strategic_patch(document, patch, pod); patched.ok()) {
    json::print(*patched);
  }
  ATHANOR_CHECK(json::print(document) == before, "patches leave the document alone");
  return 0;
}
