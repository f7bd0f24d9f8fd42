// The scripts of the pages, each put together as a page has it by tests/style/test_scripts.py.
const browser = ["atob", "Blob", "cancelAnimationFrame", "CompressionStream", "console", "CSS",
  "DecompressionStream", "devicePixelRatio", "document", "DOMParser", "FormData",
  "IntersectionObserver", "localStorage",
  "location", "matchMedia",
  "navigator", "performance", "requestAnimationFrame", "ResizeObserver", "Response", "setTimeout",
  "clearTimeout", "TextDecoder", "URL", "URLSearchParams", "window"];

export default [{
  languageOptions: {
    ecmaVersion: 2022,
    sourceType: "script",
    globals: Object.fromEntries(browser.map((name) => [name, "readonly"])),
  },
  rules: {
    "eqeqeq": "error",
    "no-dupe-keys": "error",
    "no-undef": "error",
    "no-unreachable": "error",
    "no-unused-vars": "error",
    "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
    "no-var": "error",
    "prefer-const": ["error", { destructuring: "all" }],
  },
}];
