# cython: language_level=3
"""The passes of a line net's trunk while it learns: see the stub file for the contract."""
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "fused.h" nogil:
    int FUSED_STEP
    int FUSED_WIDEST
    int FUSED_TILE
    int FUSED_REACH
    size_t fused_room(int height, int width, int c)
    ctypedef struct fused_passes:
        void (*depthwise)(const float* x, int height, int width, int c, const float* w, float* out, float* mean,
                          float* square, float* room) noexcept nogil
        void (*pointwise)(const float* u, int hw, int c, const float* scale, const float* shift, const float* w,
                          float* v, float* mean, float* square, float* room) noexcept nogil
        void (*residual)(const float* x, const float* v, int hw, int c, const float* scale, const float* shift,
                         float* out) noexcept nogil
        void (*lines)(const float* table, const int32_t* rows, int hw, int c, float* out, float* mean,
                      float* square) noexcept nogil
        void (*stem)(const float* lines, const float* planes, int n_planes, int hw, int c, const float* scale,
                     const float* shift, const float* w, float* out) noexcept nogil
        void (*heads)(const float* x, int hw, int c, const float* w, const float* bias, const float* v, int np,
                      int nv, float* hidden, float* logits, float* sum, float* top) noexcept nogil
        void (*heads_back)(const float* dlogits, const float* every, const float* at_top, const float* top,
                           const float* hidden, const float* x, const float* z, const float* mean, int hw, int c,
                           const float* w, const float* v, int np, int nv, float* g, float* sum, float* along,
                           float* dw, float* dbias, float* dv, float* room) noexcept nogil
        void (*pointwise_back)(const float* g, const float* v, const float* slope, const float* tilt,
                               const float* level, const float* u, const float* scale, const float* shift,
                               const float* mean, const float* w, int hw, int c, float* dy, float* sum, float* along,
                               float* dw, float* room) noexcept nogil
        void (*depthwise_back)(const float* dy, const float* u, const float* slope, const float* tilt,
                               const float* level, const float* x, const float* w, const float* z, const float* mean,
                               int height, int width, int c, float* g, float* dw, float* sum, float* along,
                               float* room) noexcept nogil
        void (*pool)(const float* x, int hw, int c, float* sum, float* top) noexcept nogil
        void (*pool_back)(const float* x, const float* top, const float* every, const float* at_top, int hw, int c,
                          float* g) noexcept nogil
        void (*stem_back)(const float* g, const float* lines, const float* slope, const float* tilt,
                          const float* level, const int32_t* rows, const float* planes, int n_planes, int hw, int c,
                          float* dtable, float* dw) noexcept nogil
    const fused_passes* fused_choose(bint wide)
    void fused_pairs(const float* planes, int height, int width, const int32_t* side, int sides, int32_t* pairs,
                     uint8_t* room)
    void fused_add(const float* part, size_t n, double* total)
    void fused_clear(const uint8_t* near, int hw, int c, float* x)

PATHS = ("avx2", "avx512")

cdef const fused_passes* passes


def paths():
    return tuple(name for wide, name in enumerate(PATHS) if fused_choose(wide) != NULL)


def use(path=None):
    global passes
    cdef const fused_passes* chosen = NULL
    there = paths()
    if path is None:
        chosen = fused_choose(len(there) - 1) if there else NULL
    elif path in there:
        chosen = fused_choose(PATHS.index(path))
    else:
        raise ValueError(f"this build or processor has no passes for {path!r}, but for {there}")
    passes = chosen


use()


def able(int channels):
    return passes != NULL and 0 < channels <= FUSED_WIDEST and channels % FUSED_STEP == 0


cdef struct Shape:
    int batch
    int height
    int width
    int hw
    int c
    size_t cells    # numbers of one position


cdef Shape shape_of(const float[:, :, :, ::1] x) except *:
    """Return the shape of cells [B, H, W, C] that the passes take."""
    cdef Shape s
    s.batch, s.height, s.width, s.c = <int>x.shape[0], <int>x.shape[1], <int>x.shape[2], <int>x.shape[3]
    s.hw = s.height * s.width
    s.cells = <size_t>s.hw * s.c
    if not able(s.c):
        raise ValueError(f"{s.c} channels, or this processor, are not for the fused passes")
    if s.batch < 1 or s.hw < 1:
        raise ValueError("a batch holds at least one cell")
    return s


cdef int parts_fit(const Shape* s, const int32_t[:, ::1] sizes) except -1:
    """Refuse heights and widths [B, 2] of parts of the boards that do not fit."""
    cdef Py_ssize_t b
    if sizes is None:
        return 0
    if sizes.shape[0] != s.batch or sizes.shape[1] != 2:
        raise ValueError("sizes of another shape")
    for b in range(s.batch):
        if not (1 <= sizes[b, 0] <= s.height and 1 <= sizes[b, 1] <= s.width):
            raise ValueError("a part that is no part of a board")
    return 0


cdef inline Shape part_of(const Shape* s, const int32_t[:, ::1] sizes, Py_ssize_t b) noexcept nogil:
    """Return the shape of one position, the whole board or the part of it that the arrays begin with."""
    cdef Shape part = s[0]
    if sizes is not None:
        part.height, part.width = sizes[b, 0], sizes[b, 1]
        part.hw = part.height * part.width
    return part


cdef int same(const Shape* s, const float[:, :, :, ::1] x) except -1:
    if x.shape[0] != s.batch or x.shape[1] != s.height or x.shape[2] != s.width or x.shape[3] != s.c:
        raise ValueError("cells of another shape")
    return 0


cdef int vector(const Shape* s, const float[::1] x) except -1:
    if x.shape[0] != s.c:
        raise ValueError("a vector of another number of channels")
    return 0


cdef int matrix(const float[:, ::1] x, Py_ssize_t rows, Py_ssize_t columns) except -1:
    if x.shape[0] != rows or x.shape[1] != columns:
        raise ValueError(f"a matrix [{x.shape[0]}, {x.shape[1]}] instead of [{rows}, {columns}]")
    return 0


cdef int sums(const Shape* s, const float[:, :, ::1] x, int n) except -1:
    if x.shape[0] != n or x.shape[1] != s.batch or x.shape[2] != s.c:
        raise ValueError("sums of another shape")
    return 0


cdef float* room_for(const Shape* s, size_t more) except NULL:
    """Return room for the passes and `more` numbers behind it; the caller frees it."""
    cdef float* room = <float*>malloc((fused_room(s.height, s.width, s.c) + more) * sizeof(float))
    if room == NULL:
        raise MemoryError("no memory for a position")
    return room


def pointwise(const float[:, :, :, ::1] u, const float[::1] scale, const float[:, ::1] shift, const float[:, ::1] w,
              float[:, :, :, ::1] v, float[:, :, ::1] found, const int32_t[:, ::1] sizes=None):
    cdef Shape s = shape_of(u)
    cdef Shape p
    parts_fit(&s, sizes)
    cdef Py_ssize_t b
    same(&s, v)
    matrix(w, s.c, s.c)
    matrix(shift, s.batch, s.c)
    vector(&s, scale)
    sums(&s, found, 2)
    cdef float* room = room_for(&s, 0)
    with nogil:
        for b in range(s.batch):
            p = part_of(&s, sizes, b)
            passes.pointwise(&u[b, 0, 0, 0], p.hw, s.c, &scale[0], &shift[b, 0], &w[0, 0],
                             &v[b, 0, 0, 0], &found[0, b, 0], &found[1, b, 0], room)
    free(room)


cdef int next_fits(const Shape* s, const float[:, ::1] w, float[:, :, :, ::1] u, float[:, :, ::1] found,
                   float[:, :, ::1] pooled, const uint8_t[:, ::1] near) except -1:
    """Refuse what is given of a block's first passes if it does not fit."""
    if near is not None and (near.shape[0] != s.batch or near.shape[1] != s.hw):
        raise ValueError("cells near stones of another shape")
    if w is not None:
        matrix(w, 9, s.c)
        same(s, u)
        sums(s, found, 2)
    if pooled is not None:
        sums(s, pooled, 2)
    return 0


def residual(const float[:, :, :, ::1] x, const float[:, :, :, ::1] v, const float[::1] scale,
             const float[::1] shift, float[:, :, :, ::1] out, const float[:, ::1] w=None,
             float[:, :, :, ::1] u=None, float[:, :, ::1] found=None, float[:, :, ::1] pooled=None,
             const uint8_t[:, ::1] near=None, const int32_t[:, ::1] sizes=None):
    cdef Shape s = shape_of(x)
    cdef Shape p
    parts_fit(&s, sizes)
    cdef bint convolves = w is not None, pools = pooled is not None, clears = near is not None
    cdef Py_ssize_t b
    same(&s, v)
    same(&s, out)
    vector(&s, scale)
    vector(&s, shift)
    next_fits(&s, w, u, found, pooled, near)
    cdef float* room = room_for(&s, 0)
    with nogil:
        for b in range(s.batch):
            p = part_of(&s, sizes, b)
            passes.residual(&x[b, 0, 0, 0], &v[b, 0, 0, 0], p.hw, s.c, &scale[0], &shift[0], &out[b, 0, 0, 0])
            if clears:
                fused_clear(&near[b, 0], p.hw, s.c, &out[b, 0, 0, 0])
            if convolves:
                passes.depthwise(&out[b, 0, 0, 0], p.height, p.width, s.c, &w[0, 0], &u[b, 0, 0, 0],
                                 &found[0, b, 0], &found[1, b, 0], room)
            if pools:
                passes.pool(&out[b, 0, 0, 0], p.hw, s.c, &pooled[0, b, 0], &pooled[1, b, 0])
    free(room)


cdef int stem_inputs(const Shape* s, const float[:, ::1] table, const int32_t[:, :, ::1] rows,
                     const float[:, :, :, ::1] planes) except -1:
    cdef Py_ssize_t i
    cdef const int32_t* p
    if rows.shape[0] != s.batch or rows.shape[1] != s.hw or rows.shape[2] != 4:
        raise ValueError("rows of another shape")
    if table.shape[1] != s.c:
        raise ValueError("a table of another number of channels")
    if planes.shape[0] != s.batch or planes.shape[2] != s.height or planes.shape[3] != s.width:
        raise ValueError("planes of another shape")
    p = &rows[0, 0, 0]
    for i in range(<Py_ssize_t>s.batch * s.hw * 4):
        if p[i] < 0 or p[i] >= table.shape[0]:
            raise ValueError("a row that the table does not have")
    return 0


def lines(const float[:, ::1] table, const int32_t[:, :, ::1] rows, const float[:, :, :, ::1] planes,
          float[:, :, :, ::1] out, float[:, :, ::1] found, const int32_t[:, ::1] sizes=None):
    cdef Shape s = shape_of(out)
    cdef Shape p
    parts_fit(&s, sizes)
    cdef Py_ssize_t b
    stem_inputs(&s, table, rows, planes)
    sums(&s, found, 2)
    with nogil:
        for b in range(s.batch):
            p = part_of(&s, sizes, b)
            passes.lines(&table[0, 0], &rows[b, 0, 0], p.hw, s.c, &out[b, 0, 0, 0], &found[0, b, 0],
                         &found[1, b, 0])


def stem(const float[:, :, :, ::1] summed, const float[:, :, :, ::1] planes, const float[::1] scale,
         const float[::1] shift, const float[:, ::1] weights, float[:, :, :, ::1] out, const float[:, ::1] w=None,
         float[:, :, :, ::1] u=None, float[:, :, ::1] found=None, float[:, :, ::1] pooled=None,
         const uint8_t[:, ::1] near=None, const int32_t[:, ::1] sizes=None):
    cdef Shape s = shape_of(summed)
    cdef Shape p
    parts_fit(&s, sizes)
    cdef Py_ssize_t b
    cdef bint convolves = w is not None, pools = pooled is not None, clears = near is not None
    same(&s, out)
    matrix(weights, planes.shape[1], s.c)
    vector(&s, scale)
    vector(&s, shift)
    if planes.shape[0] != s.batch or planes.shape[2] != s.height or planes.shape[3] != s.width:
        raise ValueError("planes of another shape")
    next_fits(&s, w, u, found, pooled, near)
    cdef float* room = room_for(&s, 0)
    with nogil:
        for b in range(s.batch):
            p = part_of(&s, sizes, b)
            passes.stem(&summed[b, 0, 0, 0], &planes[b, 0, 0, 0], <int>planes.shape[1], p.hw, s.c, &scale[0],
                        &shift[0], &weights[0, 0], &out[b, 0, 0, 0])
            if clears:
                fused_clear(&near[b, 0], p.hw, s.c, &out[b, 0, 0, 0])
            if convolves:
                passes.depthwise(&out[b, 0, 0, 0], p.height, p.width, s.c, &w[0, 0], &u[b, 0, 0, 0],
                                 &found[0, b, 0], &found[1, b, 0], room)
            if pools:
                passes.pool(&out[b, 0, 0, 0], p.hw, s.c, &pooled[0, b, 0], &pooled[1, b, 0])
    free(room)


cdef int heads_fit(const Shape* s, const float[:, ::1] v, const float[:, :, :, ::1] hidden,
                   const float[:, :, ::1] logits, const float[:, ::1] top) except -1:
    """Refuse arrays of the heads that do not fit; v is [3, np]."""
    matrix(v, 3, v.shape[1])
    matrix(top, s.batch, top.shape[1])
    if not able(v.shape[1]) or not able(top.shape[1]):
        raise ValueError("heads with other numbers of channels")
    if hidden.shape[0] != s.batch or hidden.shape[1] != s.height or hidden.shape[2] != s.width:
        raise ValueError("cells of another shape")
    if hidden.shape[3] != v.shape[1] + top.shape[1]:
        raise ValueError("hidden cells of another number of channels")
    if logits.shape[0] != s.batch or logits.shape[1] != 3 or logits.shape[2] != s.hw:
        raise ValueError("logits of another shape")
    return 0


def heads(const float[:, :, :, ::1] x, const float[:, ::1] w, const float[::1] bias, const float[:, ::1] v,
          float[:, :, :, ::1] hidden, float[:, :, ::1] logits, float[:, :, ::1] found):
    cdef Shape s = shape_of(x)
    cdef Py_ssize_t b
    cdef int np = <int>v.shape[1], nv = <int>found.shape[2]
    if found.shape[0] != 2:
        raise ValueError("sums of another shape")
    heads_fit(&s, v, hidden, logits, found[1])
    matrix(w, s.c, np + nv)
    if bias.shape[0] != np + nv:
        raise ValueError("a bias of another number of channels")
    with nogil:
        for b in range(s.batch):
            passes.heads(&x[b, 0, 0, 0], s.hw, s.c, &w[0, 0], &bias[0], &v[0, 0], np, nv, &hidden[b, 0, 0, 0],
                         &logits[b, 0, 0], &found[0, b, 0], &found[1, b, 0])


def heads_back(const float[:, :, ::1] dlogits, const float[:, ::1] every, const float[:, ::1] at_top,
               const float[:, ::1] top, const float[:, :, :, ::1] hidden, const float[:, :, :, ::1] x,
               const float[:, :, :, ::1] z, const float[::1] mean, const float[:, ::1] w, const float[:, ::1] v,
               float[:, :, :, ::1] g, float[:, :, ::1] found, double[::1] dw):
    cdef Shape s = shape_of(x)
    cdef Py_ssize_t b
    cdef int np = <int>v.shape[1], nv = <int>top.shape[1]
    cdef int h = np + nv
    cdef size_t n = <size_t>h * s.c + h + 3 * <size_t>np
    heads_fit(&s, v, hidden, dlogits, top)
    matrix(every, s.batch, nv)
    matrix(at_top, s.batch, nv)
    matrix(w, h, s.c)
    same(&s, z)
    same(&s, g)
    vector(&s, mean)
    sums(&s, found, 2)
    if dw.shape[0] != <Py_ssize_t>n:
        raise ValueError("a gradient of another shape")
    cdef float* part = room_for(&s, n + nv + FUSED_TILE * <size_t>h)
    cdef float* room = part + n
    with nogil:
        for b in range(s.batch):
            memset(part, 0, n * sizeof(float))
            passes.heads_back(&dlogits[b, 0, 0], &every[b, 0], &at_top[b, 0], &top[b, 0], &hidden[b, 0, 0, 0],
                              &x[b, 0, 0, 0], &z[b, 0, 0, 0], &mean[0], s.hw, s.c, &w[0, 0], &v[0, 0], np, nv,
                              &g[b, 0, 0, 0], &found[0, b, 0], &found[1, b, 0], part, part + h * s.c,
                              part + h * s.c + h, room)
            fused_add(part, n, &dw[0])
    free(part)


def pointwise_back(const float[:, :, :, ::1] g, const float[:, :, :, ::1] v, const float[:, ::1] back,
                   const float[:, :, :, ::1] u, const float[::1] scale, const float[:, ::1] shift,
                   const float[::1] mean, const float[:, ::1] w, float[:, :, :, ::1] dy, float[:, :, ::1] found,
                   double[:, ::1] dw, const int32_t[:, ::1] sizes=None):
    cdef Shape s = shape_of(g)
    cdef Shape p
    parts_fit(&s, sizes)
    cdef Py_ssize_t b
    cdef size_t n = <size_t>s.c * s.c
    same(&s, v)
    same(&s, u)
    same(&s, dy)
    matrix(back, 3, s.c)
    matrix(shift, s.batch, s.c)
    matrix(w, s.c, s.c)
    vector(&s, scale)
    vector(&s, mean)
    sums(&s, found, 2)
    if dw.shape[0] != s.c or dw.shape[1] != s.c:
        raise ValueError("a gradient of another shape")
    cdef float* part = room_for(&s, n)
    cdef float* room = part + n
    with nogil:
        for b in range(s.batch):
            p = part_of(&s, sizes, b)
            memset(part, 0, n * sizeof(float))
            passes.pointwise_back(&g[b, 0, 0, 0], &v[b, 0, 0, 0], &back[0, 0], &back[1, 0], &back[2, 0],
                                  &u[b, 0, 0, 0], &scale[0], &shift[b, 0], &mean[0], &w[0, 0], p.hw, s.c,
                                  &dy[b, 0, 0, 0], &found[0, b, 0], &found[1, b, 0], part, room)
            fused_add(part, n, &dw[0, 0])
    free(part)


def depthwise_back(const float[:, :, :, ::1] dy, const float[:, :, :, ::1] u, const float[:, ::1] back,
                   const float[:, :, :, ::1] x, const float[:, ::1] w, const float[:, :, :, ::1] z,
                   const float[::1] mean, float[:, :, :, ::1] g, float[:, :, ::1] found, double[:, ::1] dw,
                   const float[:, ::1] top=None, const float[:, ::1] every=None, const float[:, ::1] at_top=None,
                   const int32_t[:, ::1] sizes=None):
    cdef Shape s = shape_of(dy)
    cdef Shape p
    parts_fit(&s, sizes)
    cdef Py_ssize_t b
    cdef size_t n = 9 * <size_t>s.c
    cdef bint pools = top is not None
    if pools:
        matrix(top, s.batch, s.c)
        matrix(every, s.batch, s.c)
        matrix(at_top, s.batch, s.c)
    same(&s, u)
    same(&s, x)
    same(&s, z)
    same(&s, g)
    matrix(back, 3, s.c)
    matrix(w, 9, s.c)
    vector(&s, mean)
    sums(&s, found, 2)
    if dw.shape[0] != 9 or dw.shape[1] != s.c:
        raise ValueError("a gradient of another shape")
    cdef float* part = room_for(&s, n)
    cdef float* room = part + n
    with nogil:
        for b in range(s.batch):
            p = part_of(&s, sizes, b)
            if pools:
                passes.pool_back(&x[b, 0, 0, 0], &top[b, 0], &every[b, 0], &at_top[b, 0], p.hw, s.c, &g[b, 0, 0, 0])
            passes.depthwise_back(&dy[b, 0, 0, 0], &u[b, 0, 0, 0], &back[0, 0], &back[1, 0], &back[2, 0],
                                  &x[b, 0, 0, 0], &w[0, 0], &z[b, 0, 0, 0], &mean[0], p.height, p.width, s.c,
                                  &g[b, 0, 0, 0], part, &found[0, b, 0], &found[1, b, 0], room)
            fused_add(part, n, &dw[0, 0])
    free(part)


def stem_back(const float[:, :, :, ::1] g, const float[:, :, :, ::1] summed, const float[:, ::1] back,
              const int32_t[:, :, ::1] rows, const float[:, :, :, ::1] planes, float[:, ::1] dtable,
              double[:, ::1] dw, const int32_t[:, ::1] sizes=None):
    cdef Shape s = shape_of(g)
    cdef Shape p
    parts_fit(&s, sizes)
    cdef Py_ssize_t b
    cdef int n_planes = <int>planes.shape[1]
    cdef size_t n = <size_t>n_planes * s.c
    same(&s, summed)
    matrix(back, 3, s.c)
    stem_inputs(&s, dtable, rows, planes)
    if dw.shape[0] != n_planes or dw.shape[1] != s.c:
        raise ValueError("a gradient of another shape")
    cdef float* part = room_for(&s, n)
    with nogil:
        for b in range(s.batch):
            p = part_of(&s, sizes, b)
            memset(part, 0, n * sizeof(float))
            passes.stem_back(&g[b, 0, 0, 0], &summed[b, 0, 0, 0], &back[0, 0], &back[1, 0], &back[2, 0],
                             &rows[b, 0, 0], &planes[b, 0, 0, 0], n_planes, p.hw, s.c, &dtable[0, 0], part)
            fused_add(part, n, &dw[0, 0])
    free(part)


def places(const float[:, :, :, ::1] planes, const int32_t[::1] side, int sides, int32_t[:, :, ::1] rows,
           int32_t[::1] pairs):
    cdef Py_ssize_t b, i, n
    cdef int height = <int>planes.shape[2], width = <int>planes.shape[3], hw = height * width, found = 0
    cdef int32_t* row
    cdef uint8_t* room
    if planes.shape[1] < 3 or hw < 1 or side.shape[0] != 1 << (2 * FUSED_REACH) or pairs.shape[0] != sides * sides:
        raise ValueError("planes, sides or pairs of another shape")
    if rows.shape[0] != planes.shape[0] or rows.shape[1] != hw or rows.shape[2] != 4:
        raise ValueError("rows of another shape")
    for i in range(side.shape[0]):
        if not 0 <= side[i] < sides:
            raise ValueError("a side that does not exist")
    room = <uint8_t*>malloc((height + 2 * FUSED_REACH) * (width + 2 * FUSED_REACH))
    if room == NULL:
        raise MemoryError("no memory for a position")
    with nogil:
        for b in range(planes.shape[0]):
            fused_pairs(&planes[b, 0, 0, 0], height, width, &side[0], sides, &rows[b, 0, 0], room)
        # `pairs` first says where each pair stands among those that are there, in their order ...
        memset(&pairs[0], 0, pairs.shape[0] * sizeof(int32_t))
        n = rows.shape[0] * rows.shape[1] * 4
        row = &rows[0, 0, 0] if n else NULL
        for i in range(n):
            pairs[row[i]] = 1
        for i in range(pairs.shape[0]):
            found += pairs[i]
            pairs[i] = found if pairs[i] else 0
        for i in range(n):
            row[i] = pairs[row[i]] - 1
        # ... then which those are.
        for i in range(pairs.shape[0]):
            if pairs[i]:
                pairs[pairs[i] - 1] = <int32_t>i
    free(room)
    return found
