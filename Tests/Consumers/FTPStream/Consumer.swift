import FTPStream
import FoundationEssentials

/// Asks a server that is none, and prints what an error says.
@main struct Consumer {
    static func main() async throws {
        guard let url = URL(string: "ftp://127.0.0.1:1/file.txt") else { return }
        let stream = try ReadStream(ftpURL: url)
        try stream.set(.ftp(\.userName), to: "ann")
        do {
            try stream.open()
            for try await chunk in stream.chunks() { print(chunk.count) }
        } catch {
            print(error)
        }
        do {
            _ = try FTPCommand("RETR", argument: "a\r\nDELE b")
        } catch {
            print(error)
        }
    }
}
