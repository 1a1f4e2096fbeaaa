# SPDX-License-Identifier: Apache-2.0
"""One seeded stream of requests, sent to the embedded API server and to the real one; what differs is reported."""
