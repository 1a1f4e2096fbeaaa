// SPDX-License-Identifier: Apache-2.0
// The session of the page: who looks, what they may change, and which systems the cluster has.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Feature, Session } from "./types";

export const SessionContext = createContext<Session>({ auth: "none", readOnly: false });

// Returns the session.
export function useSession(): Session {
  return useContext(SessionContext);
}

// Returns a system's feature; systems that the server does not list are there.
export function featureOf(session: Session, name: string): Feature {
  return session.features?.find((one) => one.name === name) ?? { name, present: true };
}
