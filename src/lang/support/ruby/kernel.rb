# SPDX-License-Identifier: MIT
#
# A Ruby that keeps its state: it runs the cells that its host sends on descriptor 3 in one binding,
# that of the top level, and writes back what became of each.
#
# Signals and what other threads raise reach the main thread only while it runs a cell. This file
# has no local variable of its own: it would be one of the cells'.

module LlmSandboxKernel # :nodoc:
end

require_relative "channel"
require_relative "output"
require_relative "cell"

module LlmSandboxKernel
  # What user code finds changed while it runs in this process: an end of the process is an end of
  # the cell, and a forked child has no host.
  module ProcessEnds
    def exit!(status = false)
      Cell.running? ? exit(status) : super
    end

    def _fork
      pid = super
      Kernel.leave_host if pid.zero?
      pid
    end
  end

  # The same for the method that is called without a receiver.
  module ObjectEnds
    private

    def exit!(status = false) = ::Process.exit!(status)
  end

  class Kernel
    class << self
      def run
        @channel = Channel.new(3)
        @output = Output.new
        Cell.prepare
        ::Process.singleton_class.prepend(ProcessEnds)
        ::Object.prepend(ObjectEnds)
        @channel.send(op: "ready", language: "ruby", version: RUBY_VERSION, features: [])
        Thread.handle_interrupt(::Exception => :never) { serve }
      end

      # In a child: the host is the parent's.
      def leave_host = @channel.close

      private

      def serve
        while (message = @channel.receive)
          case message["op"]
          when "run" then done(message) { run_cell(message) }
          when "reset" then done(message) { Cell.reset || ["ok", 0] }
          when "exit" then break
          end
        end
      end

      def done(message)
        status, code = yield
        @output.restore
        @channel.send(op: "done", id: message["id"], status: status, exit_code: code)
      end

      def run_cell(message)
        cell = Cell.new(message["code"], message["name"])
        cell.run
        # A child that came back from the cell has nothing more to do here.
        cell.leave_child unless cell.in_kernel?
        @output.restore
        tell(message, cell)
        [cell.status, cell.exit_code]
      end

      def tell(message, cell)
        id = message["id"]
        if cell.status == "error"
          warn cell.trace unless cell.trace.empty?
          @channel.send(op: "error", id: id, name: cell.error_name, message: cell.error_message)
        elsif cell.text && !message["silent"]
          @channel.send(op: "result", id: id, text: cell.text)
        end
      end
    end
  end
end

LlmSandboxKernel::Kernel.run
