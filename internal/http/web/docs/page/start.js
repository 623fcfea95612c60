"use strict";

// Swagger UI would ask for audio a second time to play it, and without the key. This plays what has come.
const playsAudio = ({ React }) => {
  const Audio = ({ content }) => {
    const [address, setAddress] = React.useState();
    React.useEffect(() => {
      const address = URL.createObjectURL(content);
      setAddress(address);
      return () => URL.revokeObjectURL(address);
    }, [content]);
    return React.createElement("audio", { controls: true, src: address });
  };
  const isAudio = ({ content, contentType }) => content instanceof Blob && /^audio\//.test(contentType);
  return {
    wrapComponents: {
      responseBody: (Body) => (props) => React.createElement(isAudio(props) ? Audio : Body, props),
    },
  };
};

// The key that "Authorize" takes stays in the page: it is neither kept nor sent anywhere but to this service.
window.addEventListener("DOMContentLoaded", () => {
  SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#interface",
    plugins: [playsAudio],
    deepLinking: true,
    validatorUrl: null,
    persistAuthorization: false,
    displayRequestDuration: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
  });
});
