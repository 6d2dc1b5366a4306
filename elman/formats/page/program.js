// Runs the steps of a neural model, as recorded by step_program.py: arrays with shapes, one function
// for each operation. A constant matrix has eight-bit numbers and a scale per row, or floats.
const Program = (() => {
  const array = (shape, data) => ({ shape, data });
  const size = (shape) => shape.reduce((a, b) => a * b, 1);
  const wrap = (axis, rank) => (axis < 0 ? axis + rank : axis);
  const isArray = (x) => x !== null && typeof x === "object" && "shape" in x;

  // A matrix row as floats: used by embeddings; floats for everything else.
  const row = (matrix, number) => {
    const width = matrix.shape[1], out = new Float32Array(width), from = number * width;
    const scale = matrix.scales ? matrix.scales[number] : 1;
    for (let j = 0; j < width; j++) out[j] = matrix.data[from + j] * scale;
    return out;
  };
  const floats = (x) => {
    if (!x.scales) return x;
    const [rows, width] = x.shape, out = new Float32Array(rows * width);
    for (let i = 0; i < rows; i++) out.set(row(x, i), i * width);
    return array(x.shape, out);
  };

  const strides = (shape) => {
    const out = new Array(shape.length);
    let step = 1;
    for (let i = shape.length - 1; i >= 0; i--) { out[i] = step; step *= shape[i]; }
    return out;
  };
  const broadcast = (...shapes) => {
    const rank = Math.max(...shapes.map((s) => s.length)), out = [];
    for (let i = 0; i < rank; i++) {
      out.push(shapes.reduce((most, s) => {
        const n = s[i - rank + s.length];
        return n === undefined || n === 1 ? most : n;
      }, 1));
    }
    return out;
  };
  const spread = (x, shape) => {
    if (!isArray(x)) return array(shape, new Float32Array(size(shape)).fill(x));
    x = floats(x);
    if (x.shape.length === shape.length && x.shape.every((n, i) => n === shape[i])) return x;
    const own = strides(x.shape), rank = shape.length, lead = rank - x.shape.length;
    const steps = shape.map((_, i) => (i < lead || x.shape[i - lead] === 1 ? 0 : own[i - lead]));
    return gathered(x, shape, steps, 0);
  };
  // A new array of this shape, read with these strides.
  const gathered = (x, shape, steps, from) => {
    const total = size(shape), out = new Float32Array(total), index = shape.map(() => 0);
    for (let n = 0, place = from; n < total; n++) {
      out[n] = x.data[place];
      for (let d = shape.length - 1; d >= 0; d--) {
        index[d]++; place += steps[d];
        if (index[d] < shape[d]) break;
        place -= steps[d] * shape[d]; index[d] = 0;
      }
    }
    return array(shape, out);
  };
  const each = (f, ...xs) => {
    const shape = broadcast(...xs.map((x) => (isArray(x) ? x.shape : [])));
    const parts = xs.map((x) => spread(x, shape).data), out = new Float32Array(size(shape));
    if (parts.length === 1) for (let i = 0; i < out.length; i++) out[i] = f(parts[0][i]);
    else if (parts.length === 2)
      for (let i = 0; i < out.length; i++) out[i] = f(parts[0][i], parts[1][i]);
    else for (let i = 0; i < out.length; i++) out[i] = f(parts[0][i], parts[1][i], parts[2][i]);
    return array(shape, out);
  };

  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const logSigmoid = (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)));
  const addExp = (a, b) => {
    const most = Math.max(a, b);
    return most === -Infinity ? most : most + Math.log(Math.exp(a - most) + Math.exp(b - most));
  };
  // x (n, in) times the transpose of a matrix (out, in), plus an optional bias.
  const product = (x, matrix, bias) => {
    const [n, width] = x.shape, rows = matrix.shape[0], w = matrix.data, scales = matrix.scales;
    const out = new Float32Array(n * rows), plus = bias ? spread(bias, [n, rows]).data : null;
    for (let k = 0; k < n; k++) {
      const v = x.data.subarray(k * width, (k + 1) * width);
      for (let i = 0, at = 0; i < rows; i++) {
        let a = 0, b = 0, c = 0, d = 0, j = 0;
        for (; j + 3 < width; j += 4, at += 4) {
          a += w[at] * v[j]; b += w[at + 1] * v[j + 1];
          c += w[at + 2] * v[j + 2]; d += w[at + 3] * v[j + 3];
        }
        for (; j < width; j++, at++) a += w[at] * v[j];
        const sum = (a + b + (c + d)) * (scales ? scales[i] : 1);
        out[k * rows + i] = plus ? sum + plus[k * rows + i] : sum;
      }
    }
    return array([n, rows], out);
  };
  const multiply = (x, matrix, bias) =>
    product(floats(x), matrix.isMatrix ? matrix : ops.transpose2(matrix), bias);

  const narrow = (x, axis, from, length) => {
    const at = wrap(axis, x.shape.length), steps = strides(x.shape);
    const shape = x.shape.map((n, i) => (i === at ? length : n));
    return gathered(x, shape, steps, from * steps[at]);
  };
  // A copy of x with these values at these places along an axis.
  const placed = (x, axis, places, values) => {
    x = floats(x);
    const at = wrap(axis, x.shape.length), n = x.shape[at], inner = size(x.shape.slice(at + 1));
    const outer = size(x.shape.slice(0, at)), count = places.length, out = Float32Array.from(x.data);
    const from = spread(values, x.shape.map((m, i) => (i === at ? count : m))).data;
    for (let o = 0; o < outer; o++) places.forEach((place, k) => {
      const part = from.subarray((o * count + k) * inner, (o * count + k + 1) * inner);
      out.set(part, (o * n + (place < 0 ? place + n : place)) * inner);
    });
    return array(x.shape, out);
  };
  const over = (f, x, axis, keep) => {
    // f of each line along an axis; the axis keeps its length or goes away
    x = floats(x);
    const at = wrap(axis, x.shape.length), n = x.shape[at];
    const inner = size(x.shape.slice(at + 1)), outer = size(x.shape.slice(0, at));
    const shape = keep === "all" ? x.shape : x.shape.flatMap((m, i) => (i !== at ? [m] : keep ? [1] : []));
    const out = new Float32Array(size(shape)), line = new Float64Array(n);
    for (let o = 0; o < outer; o++) for (let i = 0; i < inner; i++) {
      for (let k = 0; k < n; k++) line[k] = x.data[(o * n + k) * inner + i];
      const found = f(line);
      if (keep === "all") for (let k = 0; k < n; k++) out[(o * n + k) * inner + i] = found[k];
      else out[o * inner + i] = found;
    }
    return array(shape, out);
  };
  const logSum = (line) => {
    let most = -Infinity, sum = 0;
    for (const v of line) most = Math.max(most, v);
    if (most === -Infinity) return most;
    for (const v of line) sum += Math.exp(v - most);
    return most + Math.log(sum);
  };
  const reduce = (f) => (x, axes, keep) => {
    let all = axes === null || axes === undefined ? x.shape.map((_, i) => i) : [axes].flat();
    all = all.map((a) => wrap(a, x.shape.length)).sort((a, b) => b - a);
    return all.reduce((y, axis) => over(f, y, axis, !!keep), x);
  };
  const total = (line) => line.reduce((a, b) => a + b, 0);

  const ops = {
    add: (a, b) => each((x, y) => x + y, a, b), sub: (a, b) => each((x, y) => x - y, a, b),
    mul: (a, b) => each((x, y) => x * y, a, b), div: (a, b) => each((x, y) => x / y, a, b),
    rsub: (a, b) => each((x, y) => y - x, a, b), neg: (a) => each((x) => -x, a),
    sigmoid: (a) => each(sigmoid, a), tanh: (a) => each(Math.tanh, a),
    relu: (a) => each((x) => Math.max(x, 0), a), exp: (a) => each(Math.exp, a),
    log: (a) => each(Math.log, a), softplus: (a) => each((x) => -logSigmoid(-x), a),
    reciprocal: (a) => each((x) => 1 / x, a), logaddexp: (a, b) => each(addExp, a, b),
    logSigmoid: (a) => [each(logSigmoid, a), a],
    clamp: (a, low, high) =>
      each((x) => Math.min(Math.max(x, low ?? -Infinity), high ?? Infinity), a),
    lerp: (a, b, w) => each((x, y, t) => x + t * (y - x), a, b, w),
    addcmul: (a, b, c) => each((x, y, z) => x + y * z, a, b, c),
    mm: (x, matrix) => multiply(x, matrix), addmm: (bias, x, matrix) => multiply(x, matrix, bias),
    bmm: (x, y) => ops.stack(ops.unbind(x).map((part, n) => multiply(part, ops.select(y, 0, n)))),
    same: (x) => x,
    view: (x, shape) => {
      x = floats(x);
      const known = shape.reduce((a, n) => (n < 0 ? a : a * n), 1);
      return array(shape.map((n) => (n < 0 ? x.data.length / known : n)), x.data);
    },
    unsqueeze: (x, axis) => {
      const shape = [...x.shape];
      shape.splice(wrap(axis, x.shape.length + 1), 0, 1);
      return array(shape, floats(x).data);
    },
    squeeze: (x, axis) => {
      const at = axis === undefined ? null : [axis].flat().map((a) => wrap(a, x.shape.length));
      const shape = x.shape.filter((n, i) => n !== 1 || (at && !at.includes(i)));
      return array(shape, floats(x).data);
    },
    expand: (x, shape) => spread(x, shape.map((n, i) => (n < 0 ? x.shape[i - shape.length + x.shape.length] : n))),
    permute: (x, order) => {
      x = floats(x);
      const steps = strides(x.shape);
      return gathered(x, order.map((i) => x.shape[i]), order.map((i) => steps[i]), 0);
    },
    transpose: (x, a, b) => {
      const order = x.shape.map((_, i) => i);
      a = wrap(a, order.length); b = wrap(b, order.length);
      [order[a], order[b]] = [order[b], order[a]];
      return ops.permute(x, order);
    },
    transpose2: (x) => (x.shape.length < 2 ? x : ops.transpose(x, 0, 1)),
    splitSizes: (x, sizes, axis = 0) => {
      x = floats(x);
      let from = 0;
      return sizes.map((n) => { const part = narrow(x, axis, from, n); from += n; return part; });
    },
    split: (x, length, axis = 0) => {
      const n = x.shape[wrap(axis, x.shape.length)], sizes = [];
      for (let from = 0; from < n; from += length) sizes.push(Math.min(length, n - from));
      return ops.splitSizes(x, sizes, axis);
    },
    unbind: (x, axis = 0) =>
      Array.from({ length: x.shape[wrap(axis, x.shape.length)] }, (_, i) => ops.select(x, axis, i)),
    item: (parts, number) => parts[number],
    slice: (x, axis = 0, from = 0, to = null, step = 1) => {
      x = floats(x);
      const at = wrap(axis, x.shape.length), n = x.shape[at], steps = strides(x.shape);
      const clip = (p) => Math.min(Math.max(p < 0 ? p + n : p, 0), n);
      const first = clip(from ?? 0), last = clip(to ?? n);
      const length = Math.max(0, Math.ceil((last - first) / step));
      const shape = x.shape.map((m, i) => (i === at ? length : m));
      return gathered(x, shape, steps.map((s, i) => (i === at ? s * step : s)), first * steps[at]);
    },
    // Windows along an axis; the places within a window are a new last axis.
    unfold: (x, axis, length, step) => {
      x = floats(x);
      const at = wrap(axis, x.shape.length), steps = strides(x.shape);
      const shape = x.shape.map((n, i) => (i === at ? Math.floor((n - length) / step) + 1 : n));
      const apart = steps.map((s, i) => (i === at ? s * step : s));
      return gathered(x, [...shape, length], [...apart, steps[at]], 0);
    },
    select: (x, axis, number) => {
      const at = wrap(axis, x.shape.length);
      const part = narrow(floats(x), at, number < 0 ? number + x.shape[at] : number, 1);
      return array(x.shape.filter((_, i) => i !== at), part.data);
    },
    cat: (parts, axis = 0) => {
      const real = parts.filter((p) => p.data.length || p.shape.length > 1).map(floats);
      const at = wrap(axis, real[0].shape.length), inner = (p) => size(p.shape.slice(at));
      const outer = size(real[0].shape.slice(0, at)), shape = [...real[0].shape];
      shape[at] = real.reduce((a, p) => a + p.shape[at], 0);
      const out = new Float32Array(size(shape));
      let place = 0;
      for (let o = 0; o < outer; o++) for (const p of real) {
        out.set(p.data.subarray(o * inner(p), (o + 1) * inner(p)), place);
        place += inner(p);
      }
      return array(shape, out);
    },
    stack: (parts, axis = 0) => ops.cat(parts.map((p) => ops.unsqueeze(p, axis)), axis),
    logSoftmax: (x, axis) => over((line) => { const z = logSum(line); return line.map((v) => v - z); }, x, axis, "all"),
    softmax: (x, axis) => over((line) => { const z = logSum(line); return line.map((v) => Math.exp(v - z)); }, x, axis, "all"),
    logSumExp: reduce(logSum), sum: reduce(total), mean: reduce((line) => total(line) / line.length),
    embedding: (matrix, ids) => {
      const width = matrix.shape[1], out = new Float32Array(ids.data.length * width);
      ids.data.forEach((id, n) => out.set(row(matrix, id), n * width));
      return array([...ids.shape, width], out);
    },
    zeros: (x, shape = x.shape) => array(shape, new Float32Array(size(shape))),
    copy: (x, values) => spread(values, x.shape),
    sliceScatter: (x, values, axis = 0, from = 0, to = null, step = 1) => {
      const rest = [], n = x.shape[wrap(axis, x.shape.length)];
      const clip = (p) => Math.min(Math.max(p < 0 ? p + n : p, 0), n);
      for (let i = clip(from ?? 0); i < clip(to ?? n); i += step) rest.push(i);
      return placed(x, axis, rest, values);
    },
    // Only with one list of numbers, along one axis.
    index: (x, lists) => {
      x = floats(x);
      const axis = lists.length - 1, list = lists[axis], inner = size(x.shape.slice(axis + 1));
      const outer = size(x.shape.slice(0, axis)), n = x.shape[axis], count = list.data.length;
      const out = new Float32Array(outer * count * inner);
      for (let o = 0; o < outer; o++) list.data.forEach((place, k) => {
        const from = (o * n + (place < 0 ? place + n : place)) * inner;
        out.set(x.data.subarray(from, from + inner), (o * count + k) * inner);
      });
      return array([...x.shape.slice(0, axis), ...list.shape, ...x.shape.slice(axis + 1)], out);
    },
    indexPut: (x, lists, values) => placed(x, lists.length - 1, [...lists.at(-1).data], values),
    layerNorm: (x, shape, weight, bias, epsilon) => {
      const rank = x.shape.length, normal = over((line) => {
        const mean = total(line) / line.length;
        const spreadOf = Math.sqrt(line.reduce((a, v) => a + (v - mean) ** 2, 0) / line.length + epsilon);
        return line.map((v) => (v - mean) / spreadOf);
      }, x, rank - 1, "all");
      const scaled = weight === null ? normal : ops.mul(normal, weight);
      return [bias === null ? scaled : ops.add(scaled, bias)];
    },
  };

  // A program as a function from values to values.
  const compile = (program, constants) => {
    const resolve = (values, part) => {
      if (Array.isArray(part)) return part.map((p) => resolve(values, p));
      if (part === null || typeof part !== "object") return part;
      return "v" in part ? values[part.v] : constants[part.c];
    };
    const steps = program.steps.map(([name, number, parts]) => [ops[name], number, parts]);
    return (inputs) => {
      const values = [...inputs];
      for (const [op, number, parts] of steps)
        values[number] = op(...parts.map((p) => resolve(values, p)));
      return program.outputs.map((p) => resolve(values, p));
    };
  };

  // The contract of a language model: start, read, predict. A state is [evidence, carried].
  const model = (data, constants) => {
    const read = compile(data.read, constants), predict = compile(data.predict, constants);
    const advance = (id, carried) => {
      if (data.resetsAtLines && id === data.eosId) carried = data.begin;
      const out = read([array([1, 1], new Float32Array([id])), ...carried]);
      return [out.slice(0, data.evidence), out.slice(data.evidence)];
    };
    return {
      start: () => advance(data.eosId, data.begin),
      read: (id, state) => advance(id, state[1]),
      predict: (state) => predict(state[0])[0].data,
    };
  };
  return { model, ops, array };
})();
