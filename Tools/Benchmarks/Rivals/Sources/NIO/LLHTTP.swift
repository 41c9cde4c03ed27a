internal import BenchmarkRows
internal import CMeasure
internal import CNIOLLHTTP

/// llhttp, the parser of Node.js, in swift-nio's copy.
let llhttpRows = [
    Row("llhttp-request") { parse($0, as: HTTP_REQUEST) },
    Row("llhttp-response") { parse($0, as: HTTP_RESPONSE) },
]

/// Fields seen so far, counted by the callback.
private nonisolated(unsafe) var fields = 0  // one thread: the callback runs inside c_nio_llhttp_execute

private func parse(_ arguments: Arguments, as type: llhttp_type_t) {
    let message = arguments.bytes("file")
    let count = arguments.number("count")
    var settings = llhttp_settings_t()
    c_nio_llhttp_settings_init(&settings)
    settings.on_header_value_complete = { _ in
        fields += 1
        return 0
    }
    // 1 = "no body follows", as for a response to HEAD: only the head is measured.
    settings.on_headers_complete = { _ in 1 }
    var parser = llhttp_t()
    message.withUnsafeBytes { bytes in
        let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
        measure_begin()
        for _ in 0..<count {
            c_nio_llhttp_init(&parser, type, &settings)
            guard c_nio_llhttp_execute(&parser, start, bytes.count) == HPE_OK else {
                stop("llhttp rejects the message")
            }
        }
        measure_note("fields", Double(fields))
        measure_end(Double(count), Double(count * bytes.count))
    }
}
