# SPDX-License-Identifier: MIT

require "json"

module LlmSandboxKernel
  # Messages to and from the host: a length of 32 bits, little-endian, and JSON.
  class Channel
    LIMIT = 4 << 20
    TEXT_LIMIT = 1 << 18 # of a text in a message, in bytes: JSON may make six of each

    # Two streams of one descriptor, because one that reads and writes would want to seek.
    def initialize(fd)
      @in = IO.for_fd(fd, "rb", autoclose: false)
      @out = IO.for_fd(fd, "wb", autoclose: false)
      @in.close_on_exec = true
      @out.sync = true
    end

    # The next message, or nil at the end.
    def receive
      head = @in.read(4) or return
      size = head.unpack1("V")
      return if size > LIMIT

      data = @in.read(size)
      data && data.bytesize == size ? JSON.parse(data.force_encoding("UTF-8")) : nil
    end

    def send(**message)
      message.transform_values! { |value| value.is_a?(String) ? presentable(value) : value }
      data = JSON.generate(message)
      @out.write([data.bytesize].pack("V"), data)
    rescue SystemCallError
      # The host has gone; the next receive says so.
    end

    def close
      IO.for_fd(@in.fileno).close
    rescue SystemCallError, IOError
      nil
    end

    private

    def presentable(text)
      text = text.encode("UTF-8", invalid: :replace, undef: :replace).scrub
      text.bytesize > TEXT_LIMIT ? "#{text.byteslice(0, TEXT_LIMIT).scrub('')} …" : text
    end
  end
end
