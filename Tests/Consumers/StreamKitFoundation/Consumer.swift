import Foundation
import StreamKitFoundation

/// Asks a web server for a page, as code for Apple's platforms does: with a delegate, on the main thread's run loop.
final class PageClient: NSObject, StreamDelegate {
    private var input: InputStream?
    private var output: OutputStream?
    private var request = Array("GET / HTTP/1.0\r\n\r\n".utf8)
    private var answer: [UInt8] = []
    private(set) var story: [String] = []
    private(set) var isDone = false

    func start(host: String, port: Int) {
        Stream.getStreamsToHost(withName: host, port: port, inputStream: &input, outputStream: &output)
        for stream in [input, output] as [Stream?] {
            stream?.delegate = self
            stream?.schedule(in: .current, forMode: .default)
            stream?.open()
        }
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        switch eventCode {
        case .openCompleted: story.append("open")
        case .hasSpaceAvailable: send()
        case .hasBytesAvailable: receive()
        case .errorOccurred: finish(aStream.streamError?.localizedDescription ?? "an error without words")
        case .endEncountered: finish("end")
        default: break
        }
    }

    private func send() {
        guard !request.isEmpty, let count = output?.write(request, maxLength: request.count), count > 0 else { return }
        request.removeFirst(count)
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 1024)
        guard let count = input?.read(&buffer, maxLength: buffer.count), count > 0 else { return }
        answer += buffer[..<count]
    }

    private func finish(_ how: String) {
        if let line = String(decoding: answer, as: UTF8.self).split(separator: "\r\n").first {
            story.append(String(line))
        }
        story.append(how)
        for stream in [input, output] as [Stream?] {
            stream?.close()
            stream?.remove(from: .current, forMode: .default)
        }
        isDone = true
    }
}

@main struct Consumer {
    static func main() {
        guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)), let host = url.host,
            let port = url.port
        else { fatalError("which server?") }
        let client = PageClient()
        client.start(host: host, port: port)
        while !client.isDone { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
        print(client.story.joined(separator: ", "))
    }
}
