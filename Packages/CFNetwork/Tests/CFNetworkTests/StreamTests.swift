import CFNetwork
import StreamKit
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// CFStream in Swift, as sources for Apple's systems use it. The programs in C test its behaviour.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StreamTests {
    // A class as in many programs: both streams of a socket with a delegate.
    private final class Chat: NSObject, StreamDelegate {
        var inputStream: InputStream!
        var outputStream: OutputStream!
        var received = ""
        var events: [Stream.Event] = []

        func connect(_ socket: CFSocketNativeHandle) {
            var readStream: Unmanaged<CFReadStream>?
            var writeStream: Unmanaged<CFWriteStream>?
            CFStreamCreatePairWithSocket(kCFAllocatorDefault, socket, &readStream, &writeStream)
            inputStream = readStream!.takeRetainedValue() as InputStream
            outputStream = writeStream!.takeRetainedValue()
            inputStream.delegate = self
            outputStream.delegate = self
            inputStream.schedule(in: .current, forMode: .common)
            outputStream.schedule(in: .current, forMode: .common)
            inputStream.open()
            outputStream.open()
        }

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            events.append(eventCode)
            switch eventCode {
            case .hasBytesAvailable where aStream == inputStream:
                var buffer = [UInt8](repeating: 0, count: 64)
                let count = inputStream.read(&buffer, maxLength: buffer.count)
                if count > 0 { received += String(decoding: buffer[..<count], as: UTF8.self) }
            case .endEncountered: CFRunLoopStop(CFRunLoopGetCurrent())
            default: break
            }
        }
    }

    private func sockets() -> (CInt, CInt) {
        var pair: [CInt] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
        return (pair[0], pair[1])
    }

    @Test func delegates() {
        let (own, peer) = sockets()
        defer { Glibc.close(own) }
        let chat = Chat()
        chat.connect(own)
        #expect("hello".utf8CString.withUnsafeBytes { write(peer, $0.baseAddress, 5) } == 5)
        Glibc.close(peer)
        #expect(CFRunLoopRunInMode(.defaultMode, 20, false) == .stopped)
        #expect(chat.received == "hello" && chat.inputStream.streamStatus == .atEnd)
        #expect(chat.events.contains(.openCompleted) && chat.events.contains(.hasSpaceAvailable))
        chat.inputStream.remove(from: .current, forMode: .common)
        chat.inputStream.close()
        chat.outputStream.close()
        #expect(chat.inputStream.streamStatus == .closed)
    }

    @Test func errorsCanBeThrown() throws {
        var stream: Unmanaged<CFReadStream>?
        CFStreamCreatePairWithSocket(nil, 1 << 20, &stream, nil)
        let reader = stream!.takeRetainedValue()
        #expect(!CFReadStreamOpen(reader))
        func fail() throws { throw CFReadStreamCopyError(reader)! }
        do {
            try fail()
            Issue.record("no error")
        } catch {
            #expect(error._domain == NSPOSIXErrorDomain && error._code == Int(EBADF))
            #expect(error.localizedDescription == (reader as InputStream).streamError?.localizedDescription)
        }
    }

    @Test func clientsWithoutCaptures() {
        final class Box { var text = "" }
        let (own, peer) = sockets()
        var stream: Unmanaged<CFReadStream>?
        CFStreamCreatePairWithSocket(nil, own, &stream, nil)
        let reader = stream!.takeRetainedValue()
        CFReadStreamSetProperty(
            reader, CFStreamPropertyKey(rawValue: kCFStreamPropertyShouldCloseNativeSocket), kCFBooleanTrue)
        let box = Box()
        var context = CFStreamClientContext(
            version: 0, info: Unmanaged.passUnretained(box).toOpaque(),
            retain: { Unmanaged<Box>.fromOpaque($0!).retain().toOpaque() },
            release: { Unmanaged<Box>.fromOpaque($0!).release() }, copyDescription: nil)
        let events: CFStreamEventType = [.hasBytesAvailable, .endEncountered, .errorOccurred]
        let isSet = CFReadStreamSetClient(
            reader, events.rawValue,
            { stream, event, info in
                let box = Unmanaged<Box>.fromOpaque(info!).takeUnretainedValue()
                switch event {
                case .hasBytesAvailable:
                    var buffer = [UInt8](repeating: 0, count: 3)
                    let count = CFReadStreamRead(stream, &buffer, buffer.count)
                    if count > 0 { box.text += String(decoding: buffer[..<count], as: UTF8.self) }
                default:
                    CFRunLoopStop(CFRunLoopGetCurrent())
                }
            }, &context)
        #expect(isSet)
        CFReadStreamScheduleWithRunLoop(reader, CFRunLoopGetCurrent(), .commonModes)
        #expect(CFReadStreamOpen(reader) && CFReadStreamGetStatus(reader) == .open)
        #expect("hello".utf8CString.withUnsafeBytes { write(peer, $0.baseAddress, 5) } == 5)
        Glibc.close(peer)
        #expect(CFRunLoopRunInMode(.defaultMode, 20, false) == .stopped)
        #expect(box.text == "hello")
        CFReadStreamUnscheduleFromRunLoop(reader, CFRunLoopGetCurrent(), .commonModes)
        CFReadStreamClose(reader)
    }

    @Test func theClientReleasesItsContext() {
        final class Info {}
        weak var gone: Info?
        do {
            let info = Info()
            gone = info
            let reader = CFReadStreamCreateWithBytesNoCopy(nil, [1, 2], 2, kCFAllocatorNull)
            var context = CFStreamClientContext(
                version: 0, info: Unmanaged.passUnretained(info).toOpaque(),
                retain: { Unmanaged<Info>.fromOpaque($0!).retain().toOpaque() },
                release: { Unmanaged<Info>.fromOpaque($0!).release() }, copyDescription: nil)
            #expect(CFReadStreamSetClient(reader, 1, { _, _, _ in }, &context))
            #expect(CFReadStreamSetClient(reader, 0, nil, nil))
        }
        #expect(gone == nil)
    }

    @Test func queues() async {
        let (own, peer) = sockets()
        defer { Glibc.close(own) }
        var stream: Unmanaged<CFReadStream>?
        CFStreamCreatePairWithSocket(nil, own, &stream, nil)
        let reader = stream!.takeRetainedValue()
        let queue = DispatchQueue(label: "StreamTests")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        #expect("x".utf8CString.withUnsafeBytes { write(peer, $0.baseAddress, 1) } == 1)
        let isOnQueue = await withCheckedContinuation { continuation in
            CFReadStreamSetClient(
                reader, CFStreamEventType.hasBytesAvailable.rawValue,
                { stream, _, _ in
                    CFReadStreamSetDispatchQueue(stream, nil)
                    continuation.resume(returning: DispatchQueue.getSpecific(key: key) == true)
                }, nil)
            CFReadStreamSetDispatchQueue(reader, queue)
            CFReadStreamOpen(reader)
        }
        #expect(isOnQueue && CFReadStreamCopyDispatchQueue(reader) == nil)
        CFReadStreamClose(reader)
        Glibc.close(peer)
    }

    @Test func filesAndErrors() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let writer = CFWriteStreamCreateWithFile(kCFAllocatorDefault, url as CFURL)!
        #expect(CFWriteStreamOpen(writer) && CFWriteStreamCanAcceptBytes(writer))
        #expect(CFWriteStreamWrite(writer, [104, 105], 2) == 2)
        CFWriteStreamClose(writer)
        let reader = CFReadStreamCreateWithFile(kCFAllocatorDefault, url as CFURL)!
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(CFReadStreamOpen(reader) && CFReadStreamRead(reader, &buffer, 8) == 2 && buffer[1] == 105)
        CFReadStreamClose(reader)
        try FileManager.default.removeItem(at: url)
        let missing = CFReadStreamCreateWithFile(nil, url as CFURL)!
        #expect(!CFReadStreamOpen(missing) && CFReadStreamGetError(missing).error == ENOENT)
        let error = try #require(missing.streamError as NSError?)
        #expect(error.domain == NSPOSIXErrorDomain && error.code == Int(ENOENT))
    }

    @Test func memory() throws {
        let writer: CFWriteStream = CFWriteStreamCreateWithAllocatedBuffers(kCFAllocatorDefault, kCFAllocatorDefault)
        #expect(CFWriteStreamOpen(writer) && CFWriteStreamWrite(writer, [1, 2, 3], 3) == 3)
        let data = try #require(CFWriteStreamCopyProperty(writer, .dataWritten) as? NSData)
        #expect(data.length == 3)
        var (input, output): (Unmanaged<CFReadStream>?, Unmanaged<CFWriteStream>?)
        CFStreamCreateBoundPair(nil, &input, &output, 4096)
        let (reader, end) = (input!.takeRetainedValue(), output!.takeRetainedValue())
        #expect(CFReadStreamOpen(reader) && CFWriteStreamOpen(end) && CFWriteStreamWrite(end, [7], 1) == 1)
        var byte: UInt8 = 0
        #expect(CFReadStreamRead(reader, &byte, 1) == 1 && byte == 7)
    }

    @Test func foundationsStreams() {
        // Streams that CFNetwork has not created: read and closed, but without events.
        let reader: CFReadStream = InputStream(data: Data([1, 2]))
        var buffer: [UInt8] = [0, 0, 0]
        #expect(CFReadStreamOpen(reader) && CFReadStreamRead(reader, &buffer, 3) == 2)
        #expect(!CFReadStreamSetClient(reader, 1, { _, _, _ in }, nil))
    }

    /// An empty body that was set is announced, for any method; a request without one announces nothing.
    @Test(arguments: [false, true]) func anEmptyBody(_ isSet: Bool) throws {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        let server = Task {
            try await listener.run { client in
                var head = ""
                while !head.hasSuffix("\r\n\r\n"), case let bytes = try await client.input.read(upTo: 4096),
                    !bytes.isEmpty
                {
                    head += String(decoding: bytes, as: UTF8.self)
                }
                let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length") } ?? "none"
                try await client.output.writeAll("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(length)")
            }
        }
        defer { server.cancel() }
        let url = URL(string: "http://127.0.0.1:\(listener.port!)/")! as CFURL
        let request = CFHTTPMessageCreateRequest(nil, "GET" as CFString, url, kCFHTTPVersion1_1).takeRetainedValue()
        if isSet { CFHTTPMessageSetBody(request, Data() as CFData) }
        let stream = CFReadStreamCreateForHTTPRequest(nil, request).takeRetainedValue()
        #expect(CFReadStreamOpen(stream))
        var (buffer, text) = ([UInt8](repeating: 0, count: 4096), "")
        while case let count = CFReadStreamRead(stream, &buffer, buffer.count), count > 0 {
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        #expect(text == (isSet ? "Content-Length: 0" : "none"))
        CFReadStreamClose(stream)
    }

    @Test func aBodyOfFoundation() throws {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        let server = Task {
            try await listener.run { client in
                var request = ""
                while !request.hasSuffix("streamed"), let bytes = try? await client.input.read(upTo: 4096),
                    !bytes.isEmpty
                {
                    request += String(decoding: bytes, as: UTF8.self)
                }
                try? await client.output.writeAll(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8))
            }
        }
        defer { server.cancel() }
        let url = URL(string: "http://127.0.0.1:\(listener.port!)/")! as CFURL
        let request = CFHTTPMessageCreateRequest(nil, "POST" as CFString, url, kCFHTTPVersion1_1).takeRetainedValue()
        CFHTTPMessageSetHeaderFieldValue(request, "Content-Length" as CFString, "8" as CFString)
        let body = InputStream(data: Data("streamed".utf8))
        let stream = CFReadStreamCreateForStreamedHTTPRequest(nil, request, body).takeRetainedValue()
        #expect(CFReadStreamOpen(stream))
        var (buffer, text) = ([UInt8](repeating: 0, count: 4096), "")
        while case let count = CFReadStreamRead(stream, &buffer, buffer.count), count > 0 {
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        #expect(text == "hello")
        let key = CFStreamPropertyKey(rawValue: kCFStreamPropertyHTTPResponseHeader)
        let response = CFReadStreamCopyProperty(stream, key) as! CFHTTPMessage
        #expect(CFHTTPMessageGetResponseStatusCode(response) == 200)
        CFReadStreamClose(stream)
    }
}

/// CoreFoundation's functions with Foundation's objects, as sources for Apple's systems call them.
struct ValueTests {
    @Test func urls() {
        let url = CFURLCreateWithString(kCFAllocatorDefault, "http://example.org:81/a%20b?c" as CFString, nil)!
        #expect(CFURLGetString(url) as String == "http://example.org:81/a%20b?c")
        #expect(CFURLCopyHostName(url)! as String == "example.org" && CFURLGetPortNumber(url) == 81)
        #expect(CFURLCopyScheme(url)! as String == "http" && CFURLCopyPath(url)! as String == "/a%20b")
        let below = CFURLCreateWithString(nil, "d" as CFString, url)!
        #expect(CFURLGetString(CFURLCopyAbsoluteURL(below)) as String == "http://example.org:81/d")
        #expect(CFURLCreateWithString(nil, "not a URL" as CFString, nil) == nil)
    }

    @Test func dataAndCollections() {
        let data = CFStringCreateExternalRepresentation(nil, "hé" as CFString, CFStringEncoding(0x0800_0100), 0)!
        #expect(CFDataGetLength(data) == 3 && CFDataGetBytePtr(data)![0] == 104)
        let array = ["a", "b"] as CFArray
        let second = Unmanaged<CFString>.fromOpaque(CFArrayGetValueAtIndex(array, 1)).takeUnretainedValue()
        #expect(CFArrayGetCount(array) == 2 && second as String == "b")
        let dictionary = ["k": "v"] as CFDictionary
        let key = "k" as CFString
        let value = CFDictionaryGetValue(dictionary, Unmanaged.passUnretained(key).toOpaque())
        #expect(CFDictionaryGetCount(dictionary) == 1 && value != nil)
    }
}
