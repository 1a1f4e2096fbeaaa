# SPDX-License-Identifier: Apache-2.0
"""The black-box tests that speak about the API server alone, from tests/e2e as they are, against both servers (conftest.py)."""

import test_clients
import test_every_resource
import test_http
import test_kubectl_read
import test_kubectl_write
from test_clients import api  # noqa: F401: a fixture
from test_every_resource import request_pem  # noqa: F401: a fixture

# Tests that need more than an API server and the real controller manager: Athanor's kinds, nodes, pods that run.
LAB_ALONE = {
    "test_a_custom_resource_takes_no_protobuf",
    "test_api_resources_lists_built_in_and_custom_kinds",
    "test_api_versions",
    "test_cluster_info_and_raw",
    "test_get_every_kind_of_the_lab_in_all_namespaces",
    "test_every_listable_resource_can_be_listed",
    "test_explain",
    "test_explain_of_an_unknown_field_says_so",
    "test_wide_output_has_more_columns",
    "test_fournosjob_columns",
    "test_describe_shows_an_object_and_its_events",
    "test_server_side_apply_of_a_custom_resource",
    "test_strategic_patch_of_a_custom_resource_is_refused",
    "test_dry_run_stores_nothing",
    "test_yaml_of_the_examples_applies_unchanged",
    "test_custom_objects_of_the_dynamic_client",
    "test_pod_logs_of_the_typed_client",
    "test_nodes_of_the_typed_client",
}

for _module in (test_every_resource, test_http, test_kubectl_read, test_kubectl_write, test_clients):
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and _name not in LAB_ALONE:
            globals()[_name] = _test
