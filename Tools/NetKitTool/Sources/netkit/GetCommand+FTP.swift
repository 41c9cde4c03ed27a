import ArgumentParser
import Foundation
import NetKit

extension GetCommand {
    /// Fetches a file by FTP, or a listing as it comes.
    func runFTP() async throws {
        guard let address = URL(string: url) else { throw ValidationError("'\(url)' is no URL.") }
        let client: FTPClient
        let path: FTPPath
        do {
            (client, path) = try ftp.client(address, user: login.user, cacert: connection.cacert, timeout: timeout)
        } catch let error as StreamError {
            try FTPTarget.fail(error)
        }
        client.set(.ftpFetchesResourceInfo, to: true)
        let offset = resume ? output.map(OutputFile.size(of:)) ?? 0 : 0
        let stream =
            address.path().hasSuffix("/") || path.bytes.isEmpty
            ? client.lister(path) : client.reader(path, offset: UInt64(offset))
        defer { stream.close() }
        do {
            try stream.open()
            try await stream.opened()
            let file = if let output { try OutputFile(path: output, keeping: offset) } else { OutputFile() }
            let isShown = Terminal.isInteractive && (output != nil || !Terminal.showsOutput)
            var progress =
                isShown ? ProgressBar(total: stream[.ftpResourceSize].map(Int64.init(clamping:)), offset: offset) : nil
            var count = offset
            var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
            while true {
                let moved = try await stream.read(into: &buffer)
                if moved == 0 { break }
                try file.write(buffer.span.bytes.extracting(..<moved))
                count += Int64(moved)
                progress?.show(count)
            }
            progress?.finish(count)
            if report { Terminal.say(Terminal.shownLines(stream.report.description)) }
        } catch let error as StreamError {
            if report { Terminal.say(Terminal.shownLines(stream.report.description)) }
            try FTPTarget.fail(error)
        } catch let failure as OutputFile.Failure {
            Terminal.say("netkit: \(failure.description)")
            throw ExitStatus.localFile.exitCode
        }
    }
}
