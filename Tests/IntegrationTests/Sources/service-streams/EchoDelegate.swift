import Foundation
import NetKitFoundation

/// Sends back the bytes that connections receive.
final class EchoDelegate: NSObject, NetServiceDelegate {
    /// The streams of a connection, which only one thread uses from then on.
    private final class Connection: @unchecked Sendable {
        let input: InputStream
        let output: OutputStream

        init(_ input: InputStream, _ output: OutputStream) {
            (self.input, self.output) = (input, output)
        }

        func echo() {
            input.open()
            output.open()
            var buffer = [UInt8](repeating: 0, count: 1000)
            while case let count = input.read(&buffer, maxLength: buffer.count), count > 0 {
                _ = output.write(buffer, maxLength: count)
            }
            input.close()
            output.close()
        }
    }

    func netServiceDidPublish(_ sender: NetService) {
        ServiceStreams.say("published \(sender.name) \(sender.port > 0)")
    }

    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        ServiceStreams.say("error: \(errorDict[NetService.errorCode] ?? 0)")
    }

    func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream
    ) {
        let connection = Connection(inputStream, outputStream)
        Thread.detachNewThread { connection.echo() }
    }
}
