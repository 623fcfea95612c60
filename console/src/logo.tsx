export function Logo() {
  return <svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M8.5 14.5v3M13.5 9.5v13M18.5 12.5v7M23.5 15v2" />
  </svg>
}
