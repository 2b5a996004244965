// Positions and colours of songs -> round points, drawn by the graphics card (WebGL 2).

const VERTEX = `#version 300 es
in vec2 position;
in vec4 colour;
uniform vec4 affine;      // device pixels = xz * position + yw
uniform vec2 size;        // of the canvas, device pixels
uniform float radius;     // device pixels
out vec4 ink;
void main() {
  vec2 pixel = affine.xz * position + affine.yw;
  gl_Position = vec4(pixel / size * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0);
  gl_PointSize = 2.0 * radius + 2.0;
  ink = colour;
}`;

// A disc with a soft edge; large ones get a rim in the background colour.
const FRAGMENT = `#version 300 es
precision highp float;
in vec4 ink;
uniform float radius;
uniform vec3 paper;
out vec4 pixel;
void main() {
  float away = length(gl_PointCoord - 0.5) * (2.0 * radius + 2.0);
  float cover = clamp(radius + 0.5 - away, 0.0, 1.0) * ink.a;
  float rim = radius > 4.0 ? clamp(away - radius + 1.6, 0.0, 1.0) * 0.75 : 0.0;
  pixel = vec4(mix(ink.rgb, paper, rim) * cover, cover);
}`;

// Software WebGL is slower for many points than the 2D canvas (50,000 points: 75 ms and 15 ms).
const MAX_SOFTWARE_POINTS = 5000;

/** A painter of points, or null without WebGL 2 or with one that is too slow. */
export function glPainter(canvas, columns, onRestored) {
  const gl = canvas.getContext("webgl2", {
    alpha: false,
    antialias: false,
    depth: false,
    powerPreference: "low-power",
  });
  if (gl && columns.n > MAX_SOFTWARE_POINTS && isSoftware(gl)) {
    gl.getExtension("WEBGL_lose_context")?.loseContext();
    return null;
  }
  try {
    return gl ? new GlPainter(gl, canvas, columns, onRestored) : null;
  } catch (error) {
    console.warn(error.message);
    return null;
  }
}

/** Whether WebGL runs in software, as far as the browser tells. */
function isSoftware(gl) {
  const debugInfo = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(debugInfo ? debugInfo.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(String(name));
}

class GlPainter {
  constructor(gl, canvas, columns, onRestored) {
    Object.assign(this, { gl, canvas, columns, name: "webgl2", lost: false });
    this.lose = (event) => {
      event.preventDefault();
      this.lost = true;
    };
    this.restore = () => {
      this.lost = false;
      this.prepare();
      onRestored();
    };
    canvas.addEventListener("webglcontextlost", this.lose);
    canvas.addEventListener("webglcontextrestored", this.restore);
    this.prepare();
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, text] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "position");
    gl.bindAttribLocation(program, 1, "colour");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "no shader");
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(
      ["affine", "size", "radius", "paper"].map((u) => [u, gl.getUniformLocation(program, u)]),
    );
    this.buffers = [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()];
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[0]);
    gl.bufferData(gl.ARRAY_BUFFER, this.columns.positions, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.UNSIGNED_SHORT, true, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[1]);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers[2]);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Set the colours (four bytes a song) and the drawing order. */
  colour(bytes, order) {
    if (this.lost) return;
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[1]);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.DYNAMIC_DRAW);
  }

  /** affine: pixel = a * position + b as [ax, bx, ay, by]; it and the radius in pixels of the canvas. */
  draw(affine, radius, paper) {
    if (this.lost) return;
    const { gl, canvas, uniforms } = this;
    const [r, g, b] = paper.map((value) => value / 255);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(r, g, b, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.columns.n) return;
    gl.uniform4f(uniforms.affine, ...affine);
    gl.uniform2f(uniforms.size, canvas.width, canvas.height);
    gl.uniform1f(uniforms.radius, radius);
    gl.uniform3f(uniforms.paper, r, g, b);
    gl.drawElements(gl.POINTS, this.columns.n, gl.UNSIGNED_INT, 0);
  }

  close() {
    this.canvas.removeEventListener("webglcontextlost", this.lose);
    this.canvas.removeEventListener("webglcontextrestored", this.restore);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext(); // browsers limit the number of contexts
  }
}
