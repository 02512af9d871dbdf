/* SPDX-License-Identifier: MIT */
/* SBX_AGENT_PATH is the agent's program, as built. */
	.section .rodata
	.balign 16
	.global sbx_agent_image_start
	.hidden sbx_agent_image_start
sbx_agent_image_start:
	.incbin SBX_AGENT_PATH
	.global sbx_agent_image_end
	.hidden sbx_agent_image_end
sbx_agent_image_end:
	.section .note.GNU-stack, "", @progbits
