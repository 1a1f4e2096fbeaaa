// SPDX-License-Identifier: Apache-2.0
// Requests to the console's API. Every failure becomes an ApiError whose message names what happened.
import { base, navigate, place } from "./router";
import { setServerTime } from "./time";
import type { Session } from "./types";

export interface FieldError {
  field: string;
  message: string;
}

export class ApiError extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly field?: string,
    readonly errors: FieldError[] = [],
  ) {
    super(message);
  }
}

let csrf = "";

// Returns the address of a route of the API.
export function api(path: string): string {
  return `${base}api/v1${path}`;
}

// Returns one line for an error of any kind.
export function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function answer(response: Response): Promise<unknown> {
  const text = await response.text();
  let body: unknown;
  try {
    body = text ? JSON.parse(text) : {};
  } catch {
    body = undefined;
  }
  if (response.ok && body !== undefined) {
    const now = (body as { now?: unknown }).now;
    if (typeof now === "string") setServerTime(now);
    return body;
  }
  const error = (body as { error?: { reason?: string; message?: string; field?: string; errors?: FieldError[] } } | undefined)?.error;
  const errors = error?.errors ?? (body as { errors?: FieldError[] } | undefined)?.errors ?? [];
  if (response.status === 401 && place().path !== "/login") navigate(`${base}login?next=${encodeURIComponent(location.pathname + location.search)}`);
  throw new ApiError(response.status, error?.reason ?? "Unavailable", error?.message ?? `the console answered ${response.status} ${response.statusText}`, error?.field, errors);
}

async function request(path: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(api(path), { credentials: "same-origin", ...init });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "Unavailable", "the console does not answer: is it still running?");
  }
  return answer(response);
}

// Reads a route.
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await request(path, { headers: { Accept: "application/json" }, ...(signal ? { signal } : {}) })) as T;
}

// Sends a change.
export async function send<T = { message?: string }>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json", "X-Athanor-CSRF": csrf };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return (await request(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })) as T;
}

// Sends a change and returns the server's message.
export async function act(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<string> {
  return (await send(method, path, body)).message ?? "done";
}

// Reads the session; its CSRF value goes into every later change.
export async function readSession(): Promise<Session> {
  const session = await get<Session>("/session");
  csrf = session.csrf ?? "";
  return session;
}

// Returns a path of names, each made safe for an address.
export function route(...parts: (string | undefined)[]): string {
  return parts.map((part) => `/${encodeURIComponent(part ?? "")}`).join("");
}
