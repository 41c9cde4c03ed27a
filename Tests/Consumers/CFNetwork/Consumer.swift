import CFNetwork

/// Serializes a request, in source as on Apple's systems.
@main struct Consumer {
    static func main() {
        let url = URL(string: "http://example.org/a?b")! as CFURL
        let request = CFHTTPMessageCreateRequest(nil, "GET" as CFString, url, kCFHTTPVersion1_1).takeRetainedValue()
        CFHTTPMessageSetHeaderFieldValue(request, "Host" as CFString, "example.org" as CFString)
        guard let bytes = CFHTTPMessageCopySerializedMessage(request)?.takeRetainedValue() else { return }
        print(String(decoding: bytes as Data, as: UTF8.self).split(separator: "\r\n").joined(separator: "|"))
        bufferThroughAPair()
    }

    /// Sends bytes through a bound pair of streams, whose events a closure without captures receives on the run loop.
    static func bufferThroughAPair() {
        var readStream: Unmanaged<CFReadStream>?
        var writeStream: Unmanaged<CFWriteStream>?
        CFStreamCreateBoundPair(kCFAllocatorDefault, &readStream, &writeStream, 64)
        let input = readStream!.takeRetainedValue() as InputStream
        let output = writeStream!.takeRetainedValue() as OutputStream
        var context = CFStreamClientContext()
        let events: CFStreamEventType = [.hasBytesAvailable, .endEncountered]
        CFReadStreamSetClient(
            input, events.rawValue,
            { stream, event, _ in
                var buffer = [UInt8](repeating: 0, count: 64)
                let count = event == .hasBytesAvailable ? CFReadStreamRead(stream, &buffer, buffer.count) : 0
                print(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self))
                CFRunLoopStop(CFRunLoopGetCurrent())
            }, &context)
        CFReadStreamScheduleWithRunLoop(input, CFRunLoopGetCurrent(), .commonModes)
        input.open()
        output.open()
        _ = output.write(Array("through the pair".utf8), maxLength: 16)
        CFRunLoopRunInMode(.defaultMode, 10, false)
        input.close()
        output.close()
    }
}
