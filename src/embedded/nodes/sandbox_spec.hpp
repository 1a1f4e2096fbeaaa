// SPDX-License-Identifier: Apache-2.0
// What a runtime needs to run a pod, as one value: commands, resolved environment, mounts, and the
// contents of its volumes.
//
//   {uid, ns, name, hostname, hosts (the hosts file, or ""), resolver
//   (settings of the resolver, or ""), network: {ip, host (it is the machine's)}, task, simulate,
//   restartPolicy, grace, sequential,
//    init: [container...], containers: [container...], ephemeral: [container...] where some are,
//    volumes: [volume...]}
//   container: {name, command: [..], script, env: [[name, value]..], workingDir, results: [..],
//   stepResults: [..], artifacts, onError, timeoutMs, when: [..], stdout, stderr (files), sidecar,
//   restartPolicy (of sidecars), seconds (what its image takes where nothing runs), image (the
//   id of a loaded one, whose files are the root), busybox (its shell is busybox's), problem (why
//   no process can run it),
//               probes: {startup, liveness, readiness}, postStart, preStop (sandbox_probes.cpp),
//               ownRestartPolicy, restartRules, native (an init container that goes on),
//               target (the container whose processes an ephemeral one sees),
//               mounts: [{volume, path, subPath, readOnly}], stdin, stdinOnce, tty,
//               devices: [{name, file (below the folder of nodes), poststop}]}
//               security (sandbox_security.hpp), readOnlyRoot,
//   limits: {NAME: {memory: bytes, cpu: thousandths of a processor}}, each where there is one; NAME
//           is a container's, or "*" of the whole pod
//   resources: {NAME: resources of the container, as granted}
//   volume: {name, type: "empty" | "files" | "claim", memory, sizeBytes, limitBytes, limit (of one
//            on the disk, and as it was written), claim, files: [{path, data (base64), mode}],
//            tokens: [{path, audience, seconds}], serviceAccount}
#pragma once

#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Steps run one after another (Tekton's pods): the annotation that says so, a list with one entry
// per container. Sidecars run beside them from before the first to after the last.
inline constexpr const char* kStepsAnnotation = "athanor.dev/steps";
// "pause": the containers wait and do nothing; the pod's author does their work.
inline constexpr const char* kEmulateAnnotation = "athanor.dev/emulate";
// How long a container takes and how it ends where nothing runs (timed/timed_pods.hpp).
inline constexpr const char* kSimulateAnnotation = "athanor.dev/simulate";
// The label whose value becomes `task` of the spec.
inline constexpr const char* kPipelineTaskLabel = "tekton.dev/pipelineTask";

// The spec, or why the pod cannot start yet.
struct SandboxSpec {
  Value value{};                 // when `waiting_reason` is empty
  std::string waiting_reason{};  // "ContainerCreating" or "CreateContainerConfigError"
  std::string waiting_message{};
  std::string failing_container{};  // of a config error
};

// Resolves secrets, config maps and fields through the view. Missing non-optional volumes:
// ContainerCreating; missing non-optional environment sources: CreateContainerConfigError
// (docs/spec/tekton.md 10.4).
SandboxSpec make_sandbox_spec(const View& view, const Object& pod);

// Key of the limits of the whole pod, beside those of its containers.
inline constexpr std::string_view kWholePod = "*";

// Returns the limits of a pod's containers by their names, and those of the whole pod: memory in
// bytes, cpu in thousandths of a processor.
Value container_limits(const Object& pod);

// Returns the value of a downward API field path of a pod ("metadata.labels['a']") with this
// address, or nullopt when there is no such field.
std::optional<std::string> pod_field(const Object& pod, std::string_view address,
                                     std::string_view path);

}  // namespace athanor::nodes
